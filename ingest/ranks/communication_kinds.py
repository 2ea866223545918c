"""Kinds of communication, by the names that back ends give their kernels and annotations."""

import re
from functools import lru_cache

from tracegraph.vocabulary.collectives import stated_kind
from tracegraph.vocabulary.operation_types import COMMUNICATION_NAMES

_BACK_END = re.compile(r"(?:nccl|rccl)(?:dev)?kernel|(?:nccl|rccl|gloo|mpi|ucc|oneccl)(?=[_:])", re.A)


def is_communication(name: str) -> bool:
    """Tell by its name whether work is of a communication library, or an operation log calls it a message."""
    return name in COMMUNICATION_NAMES or _BACK_END.match(name.lower()) is not None


@lru_cache(maxsize=4096)  # a job has few names, each of them thousands of times
def find_kind(name: str) -> str | None:
    """Find the kind of a kernel or annotation such as `ncclDevKernel_AllReduce_Sum_f32`.

    Another example is `gloo:all_reduce`. None if no communication library uses the name, or if the name does
    not say the kind.
    """
    behind = _BACK_END.match(name.lower())
    return stated_kind(name[behind.end() :]) if behind else None
