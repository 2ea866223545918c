"""The inputs of an operator as the profiler records them with `record_shapes=True`."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tracegraph.vocabulary.element_types import ElementType, find_type, promoted

Dims = tuple[int, ...]
_LARGEST = 1 << 53
"""A tensor of this many elements, or more, is a broken record."""


@dataclass(frozen=True)
class Operand:
    """A tensor. `stored`: its elements in memory, fewer than those of its shape if it is expanded."""

    dims: Dims
    type: ElementType | None
    stored: int

    @property
    def elements(self) -> int:
        """The number of elements of its shape."""
        return math.prod(self.dims)


@dataclass(frozen=True)
class Inputs:
    """One call's inputs, by position.

    `operands`: tensors, None for an input that is not one, or that is a list. `scalars`: the other inputs as
    written ("Concrete Inputs"), empty if the file has none.
    """

    operands: Sequence[Operand | None]
    scalars: Sequence[str]

    def tensor(self, place: int) -> Operand | None:
        """Return the tensor at a position, None if there is none."""
        return self.operands[place] if place < len(self.operands) else None

    def tensors(self, *places: int) -> list[Operand] | None:
        """Return the tensors at these positions, None if there is none at one of them."""
        found = [one for one in map(self.tensor, places) if one is not None]
        return found if len(found) == len(places) else None

    def numbers(self, place: int) -> Dims | None:
        """Read a scalar that is an integer, or a list of integers; None if it is neither."""
        try:
            value = json.loads(self.scalars[place])
        except (IndexError, ValueError, RecursionError):
            return None
        values = value if isinstance(value, list) else [value]
        return tuple(values) if all(type(one) is int for one in values) else None

    def flag(self, place: int) -> bool | None:
        """Read a scalar that is true or false; None if it is neither."""
        return {"True": True, "False": False}.get(self.scalars[place] if place < len(self.scalars) else "")

    def flags(self, place: int) -> tuple[bool, ...] | None:
        """Read a scalar that is a list of true and false; None if it is not."""
        words = (self.scalars[place] if place < len(self.scalars) else "").strip("[]").split(", ")
        known = {"True": True, "False": False}
        return tuple(known[word] for word in words) if all(word in known for word in words) else None


def common_type(operands: Sequence[Operand]) -> ElementType | None:
    """Find the type in which an operator computes, None if the type of an operand is not known.

    A tensor without dimensions decides only if all tensors are without.
    """
    deciding = [one for one in operands if one.dims] or list(operands)
    types = [one.type for one in deciding]
    found: ElementType | None = None
    for kind in types:
        if kind is None:
            return None
        found = kind if found is None else promoted(found, kind)
    return found


def broadcast(shapes: Sequence[Dims]) -> Dims | None:
    """Find the shape of an elementwise operator's result; None if the shapes do not fit together."""
    length = max(map(len, shapes), default=0)
    padded = [(1,) * (length - len(dims)) + dims for dims in shapes]
    result = []
    for sizes in zip(*padded, strict=True):
        others = {size for size in sizes if size != 1}
        if len(others) > 1:
            return None
        result.append(others.pop() if others else 1)
    return tuple(result)


def read_inputs(shapes: str, others: str) -> Inputs | None:
    """Read the texts of two columns of EVENT_SCHEMA; None if they are not as the profiler writes them.

    Parameters
    ----------
    shapes
        "Input Dims" as JSON text.
    others
        ["Input type", "Input Strides", "Concrete Inputs"] as JSON text, empty if the file has none.
    """
    try:
        dims = json.loads(shapes)
        types, strides, scalars = json.loads(others) if others else (None, None, None)
    except (ValueError, TypeError, RecursionError):
        return None
    if not isinstance(dims, list):
        return None
    columns = [_as_long(column, len(dims)) for column in (types, strides)]
    operands = [_operand(*row) for row in zip(dims, *columns, strict=True)]
    return Inputs(operands, [str(one) for one in scalars] if isinstance(scalars, list) else [])


def _as_long(column: object, length: int) -> list[object]:
    return column if isinstance(column, list) and len(column) == length else [None] * length


def _operand(dims: object, kind: object, strides: object) -> Operand | None:
    sizes = _sizes(dims)
    if sizes is None or math.prod(sizes) >= _LARGEST:
        return None
    known = find_type(kind) if isinstance(kind, str) else None
    if not sizes and known is None:
        return None  # a number, a list of such, or nothing
    steps = _sizes(strides)
    fits = steps is not None and len(steps) == len(sizes)
    return Operand(sizes, known, math.prod(_held(sizes, steps if fits and steps else ())))


def _held(sizes: Dims, steps: Dims) -> Iterator[int]:
    """Count the elements along each dimension in memory: one if a stride of 0 puts all at the same place."""
    for place, size in enumerate(sizes):
        yield 1 if steps and steps[place] == 0 and size else size


def _sizes(value: object) -> Dims | None:
    if not isinstance(value, list) or not all(type(one) is int and one >= 0 for one in value):
        return None
    return tuple(value)
