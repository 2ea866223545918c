"""Element types of tensors: their spellings in PyTorch's profiler, their names and their sizes."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ElementType:
    """An element type: `size` in bytes, and whether its arithmetic counts as FLOPs (`floating`)."""

    name: str
    size: int
    floating: bool = True


_NAMES = {
    "double": ElementType("float64", 8),
    "float": ElementType("float32", 4),
    "c10::Half": ElementType("float16", 2),
    "c10::BFloat16": ElementType("bfloat16", 2),
    "c10::Float8_e4m3fn": ElementType("float8", 1),
    "c10::Float8_e5m2": ElementType("float8", 1),
    "c10::Float8_e4m3fnuz": ElementType("float8", 1),
    "c10::Float8_e5m2fnuz": ElementType("float8", 1),
    "long int": ElementType("int64", 8, floating=False),
    "long": ElementType("int64", 8, floating=False),
    "int": ElementType("int32", 4, floating=False),
    "short int": ElementType("int16", 2, floating=False),
    "short": ElementType("int16", 2, floating=False),
    "signed char": ElementType("int8", 1, floating=False),
    "unsigned char": ElementType("uint8", 1, floating=False),
    "bool": ElementType("bool", 1, floating=False),
}
BOOL, INT64 = _NAMES["bool"], _NAMES["long int"]
"""Types of results that do not follow from the inputs: those of comparisons and of indices."""
_WIDER = {("bfloat16", "float16"): _NAMES["float"], ("float16", "bfloat16"): _NAMES["float"]}
"""The pairs of types whose common type is neither of them."""


def find_type(written: str) -> ElementType | None:
    """Find the type that "Input type" names; None for what is not a tensor or has no size here."""
    return _NAMES.get(written)


def promoted(one: ElementType, other: ElementType) -> ElementType:
    """Find the type in which an operator computes with both types, by PyTorch's rules of promotion."""
    if (one.name, other.name) in _WIDER:
        return _WIDER[one.name, other.name]
    return max(one, other, key=lambda kind: (kind.floating, kind.size))
