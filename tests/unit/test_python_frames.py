"""Whose code an event runs."""

import pytest

from tracegraph.vocabulary.python_frames import is_library


@pytest.mark.parametrize(
    ("name", "library"),
    [
        ("train.py(3): step", False),
        ("/home/me/train.py(3): step", False),
        ("mine/data/load.py(3): step", False),
        ("nn.Module: Linear_0", False),
        ("my/threading_tools.py(3): step", False),
        ("<string>(1): <module>", False),
        ("torch/nn/modules/module.py(1776): _call_impl", True),
        ("threading.py(359): wait", True),
        ("<built-in function len>", True),
        ("<frozen runpy>(198): _run_module_as_main", True),
        ("/usr/lib/python3.11/threading.py(359): wait", True),
        ("/opt/lib/python3.11/site-packages/torch/_tensor.py(5): backward", True),
        ("/opt/lib/python3.11/site-packages/timm/layers.py(5): forward", True),
    ],
)
def test_libraries(name: str, library: bool) -> None:
    assert is_library(name, "python_function") == library
    assert not is_library(name, "cpu_op")
