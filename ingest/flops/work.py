"""What an operator's call does, and how formulas express it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tracegraph.ingest.flops.operands import Inputs, Operand
from tracegraph.vocabulary.element_types import ElementType


@dataclass(frozen=True)
class Work:
    """What one call of an operator does.

    Attributes
    ----------
    flops
        Floating point operations.
    moved_bytes
        The least traffic: each input is read once and each result written once. None if an element type is
        not known.
    dtype
        The type in which the call computes, None if it is not known.
    """

    kind: str
    flops: int
    moved_bytes: int | None
    dtype: str | None


Formula = Callable[[Inputs], Work | None]
"""Counts the work of a call; None if the trace did not record what the formula needs."""


def make_work(
    kind: str,
    flops: int,
    computes_in: ElementType | None,
    reads: Sequence[Operand],
    writes: Sequence[tuple[int, ElementType | None]],
) -> Work:
    """Make the work of a call that reads `reads` and writes these elements of a type each.

    Only floating point arithmetic counts: in a type of integers there are no FLOPs.
    """
    moved = [*((one.stored, one.type) for one in reads), *writes]
    total = 0
    for elements, kind_of in moved:
        if kind_of is None and elements:
            return Work(kind, _floating(flops, computes_in), None, _name(computes_in))
        total += elements * (kind_of.size if kind_of is not None else 0)
    return Work(kind, _floating(flops, computes_in), total, _name(computes_in))


def _floating(flops: int, kind: ElementType | None) -> int:
    return flops if kind is None or kind.floating else 0


def _name(kind: ElementType | None) -> str | None:
    return None if kind is None else kind.name
