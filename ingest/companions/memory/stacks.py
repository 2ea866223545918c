"""What the call stack of an allocation tells: who allocated, the user's own line, and the module."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

ENGINE, OPTIMIZER, MODULE, PYTHON, NOTHING = "engine", "optimizer", "module", "python", "nothing"
"""Who allocated: autograd's engine, an optimizer, a module's forward, other Python code; or nothing tells."""
_ENGINE = "autograd::Engine"
_NODE = re.compile(r"torch::autograd::(?:generated::)?(\w+)::apply\(")
"""The step of backward that autograd's engine runs; its name is that of the operator of forward."""
_LIBRARY = re.compile(r"(?:^|/)(?:site-packages|dist-packages|lib/python3\.\d+|torch)/|^<")
"""Python files that are not the user's: installed packages, the standard library, generated code."""
_OPTIMIZER = re.compile(r"(?:^|/)torch/optim/")
_MODULE = re.compile(r"(?:^|/)torch/nn/modules/module\.py$")
_CALL = ("_call_impl", "_wrapped_call_impl")
"""Functions that call the forward of a module."""
CALLED = " > "
"""Stands between the modules around an allocation, the outermost first."""


@dataclass(frozen=True)
class Stack:
    """What one stack tells.

    Attributes
    ----------
    kind
        Who allocated.
    file, line, function
        The innermost frame that is the user's. Below autograd's engine there is none as a rule: then
        `function` is the step of backward, as `MmBackward0`, named after the operator of forward.
    module
        The user's lines that called the modules around it, the outermost first: `train.py:9 > model.py:30`.
        Of a trace their classes: `Model > Block > Linear`.
    calls
        Of a trace: which call of each of these modules it is; the rows of their events.
    """

    kind: str
    file: str | None = None
    line: int | None = None
    function: str | None = None
    module: str | None = None
    calls: tuple[int, ...] = ()


UNKNOWN_STACK = Stack(NOTHING)


@dataclass(frozen=True)
class _Frame:
    function: str
    file: str
    line: int

    @property
    def is_python(self) -> bool:
        return self.file.endswith(".py") or self.file.startswith("<")

    @property
    def is_own(self) -> bool:
        return self.is_python and not _LIBRARY.search(self.file)

    @property
    def calls_module(self) -> bool:
        return self.function in _CALL and bool(_MODULE.search(self.file))


def read_stacks(frames: pa.Table) -> dict[int, Stack]:
    """Return what each stack tells, by its number; `frames` as in a snapshot, the innermost frame first."""
    stacks: dict[int, list[_Frame]] = {}
    rows = zip(*(frames[name].to_pylist() for name in ("stack", "function", "file", "line")), strict=True)
    for stack, function, file, line in rows:
        stacks.setdefault(stack, []).append(_Frame(function, file, line))
    return {number: _read(own) for number, own in stacks.items()}


def _read(frames: Sequence[_Frame]) -> Stack:
    own = [frame for frame in frames if frame.is_own]
    if any(_ENGINE in frame.function for frame in frames):
        kind = ENGINE
    elif any(_OPTIMIZER.search(frame.file) for frame in frames):
        kind = OPTIMIZER
    elif any(frame.calls_module for frame in frames):
        kind = MODULE
    else:
        kind = PYTHON if any(frame.is_python for frame in frames) else NOTHING
    if not own:
        nodes = (_NODE.match(frame.function) for frame in frames)
        return Stack(kind, function=next((node[1] for node in nodes if node), None))
    return Stack(kind, own[0].file, own[0].line, own[0].function, _modules(frames))


def _modules(frames: Sequence[_Frame]) -> str | None:
    """Find the user's lines that called modules: of each call of one, the next own frame outside it.

    A module of a library inside a module of the user's counts for the line that called it, too.
    """
    called: list[str] = []
    pending = False
    for frame in frames:
        if frame.calls_module:
            pending = True
        elif pending and frame.is_own:
            called.append(f"{frame.file.rsplit('/', 1)[-1]}:{frame.line}")
            pending = False
    return CALLED.join(reversed(called)) or None
