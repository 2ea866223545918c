"""Kinds of operations as NCCL and its tests write them."""

import re

from tracegraph.vocabulary.collectives import KINDS

_PUNCTUATION = re.compile(r"[\W_]+")
ELEMENT_BYTES = (1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1)
"""Bytes of an element by the number of its type (NCCL 2.29, src/nccl.h.in, ncclDataType_t)."""


def kind_named(name: str) -> str | None:
    """Return the kind of an operation, such as `all_reduce` for AllReduce; None for one that is not known."""
    plain = _PUNCTUATION.sub("", name).lower()
    return next((kind.name for kind in KINDS if plain.startswith(kind.spelling)), None)
