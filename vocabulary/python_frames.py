"""The owner of the code that an event runs, by its name: the user, a library or the interpreter."""

import re
import sys

from tracegraph.vocabulary.categories import Role, has_role

_FRAME = re.compile(r"(?P<file>.+?)\((?P<line>\d{1,9})\): (?P<function>.+)", re.DOTALL)
_LIBRARY = re.compile(r"(^|/)(site-packages|dist-packages|python\d\.\d+)/|^<frozen ")
_PACKAGES = frozenset(
    {
        *("torch", "torchvision", "torchaudio", "numpy", "PIL", "pandas", "scipy", "cv2", "tqdm", "nvtx"),
        *("transformers", "triton", "deepspeed", "megatron", "accelerate", "lightning", "datasets"),
    }
)
"""Packages that count as libraries even if no path says where they lie."""
SCRIPT = ": <module>"
"""The ending of the name of the frame that runs a whole file."""
MODULE = "nn.Module: "
"""The beginning of the name of a module's frame."""
_NUMBER = re.compile(r"_\d+$")


def is_library(name: str, category: str) -> bool:
    """Tell whether an event is a Python function of a library, the standard library or the interpreter.

    The profiler leaves out the part of a path that is in `sys.path`: the path of a library begins with its
    package, and that of a file of the standard library with the name of the file.
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


def frame_parts(name: str) -> tuple[str, int, str] | None:
    """Split the name of a Python function's frame into file, line and function; None for any other name."""
    found = _FRAME.fullmatch(name)
    return None if found is None else (found["file"], int(found["line"]), found["function"])


def module_class(name: str) -> str:
    """Name all modules of a class by a wildcard: `nn.Module: Norm_3` becomes `nn.Module: Norm_*`."""
    return _NUMBER.sub("_*", name) if name.startswith(MODULE) else name
