"""Kinds of operators by their arithmetic: those for which FLOPs and bytes are reported."""

from dataclasses import dataclass

MATRIX, CONVOLUTION, ATTENTION = "matrix product", "convolution", "attention"
ELEMENTWISE, REDUCTION, NORMALISATION = "elementwise", "reduction", "normalisation"
POOLING, MOVEMENT = "pooling", "data movement"


@dataclass(frozen=True)
class WorkKind:
    """One kind: `counted` says how its FLOPs are counted.

    `on_matrix_units` says whether the device's tensor or matrix cores can do it.
    """

    name: str
    counted: str
    on_matrix_units: bool = False


WORK_KINDS = (
    WorkKind(MATRIX, "2 FLOPs for each product of two elements", on_matrix_units=True),
    WorkKind(CONVOLUTION, "the same, without what padding saves", on_matrix_units=True),
    WorkKind(ATTENTION, "its matrix products, half of them where it is causal", on_matrix_units=True),
    WorkKind(ELEMENTWISE, "1 FLOP an element of the result"),
    WorkKind(REDUCTION, "1 FLOP an element of the input"),
    WorkKind(NORMALISATION, "5 FLOPs an element, twice as many backward"),
    WorkKind(POOLING, "1 FLOP an element of each window"),
    WorkKind(MOVEMENT, "no FLOPs"),
)
ON_MATRIX_UNITS = frozenset(kind.name for kind in WORK_KINDS if kind.on_matrix_units)
