"""Whose code an event runs, as far as its name tells: the user's own, a library's, or the interpreter's."""

import re
import sys

from tracegraph.vocabulary.categories import Role, has_role

_FRAME = re.compile(r"(?P<file>.+?)\(\d+\): (?P<function>.+)", re.DOTALL)
_LIBRARY = re.compile(r"(^|/)(site-packages|dist-packages|python\d\.\d+)/|^<frozen ")
_PACKAGES = frozenset(
    {
        *("torch", "torchvision", "torchaudio", "numpy", "PIL", "pandas", "scipy", "cv2", "tqdm", "nvtx"),
        *("transformers", "triton", "deepspeed", "megatron", "accelerate", "lightning", "datasets"),
    }
)
SCRIPT = ": <module>"
"""What the name of the frame that runs a whole file ends with."""
MODULE = "nn.Module: "
"""What the name of a module's frame begins with."""
_NUMBER = re.compile(r"_\d+$")


def is_library(name: str, category: str) -> bool:
    """Whether an event is a Python function of a library, the standard library or the interpreter.

    The profiler leaves out the part of a path that is in `sys.path`, so a library begins with its package, a
    file of the standard library with its own name.
    """
    if not has_role(category, Role.FRAME) or name.startswith(MODULE):
        return False
    frame = _FRAME.fullmatch(name)
    if frame is None:
        return True
    file = frame["file"]
    package = file.partition("/")[0]
    stem = package.removesuffix(".py")
    return bool(_LIBRARY.search(file)) or package in _PACKAGES or stem in sys.stdlib_module_names


def module_class(name: str) -> str:
    """Name all modules of a class by a wildcard: `nn.Module: Norm_3` becomes `nn.Module: Norm_*`."""
    return _NUMBER.sub("_*", name) if name.startswith(MODULE) else name
