"""The vocabulary of communication between ranks: kinds of operations, and their bandwidths.

How many bytes an operation moves, and how its bus bandwidth follows, are as in NCCL's tests
(github.com/NVIDIA/nccl-tests, doc/PERFORMANCE.md), so that the figures can be compared with theirs.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

ON_THREADS = ("gloo:", "mpi:", "ucc:")
"""Beginnings of the annotations that back ends for the CPU write around a collective, on a thread."""
CALLS = "c10d::"
"""Beginning of the names of the operators in which the host calls a process group."""
AWAITS = "_c10d_functional::wait_tensor"
"""The operator in which distributed tensors wait for what they called."""
TRANSFER, LATE_ARRIVAL, MIXED = CAUSES = ("transfer", "late arrival", "mixed")
"""What an operation takes long for, where that is known."""
_NO_LETTER = re.compile(r"[^a-z]", re.A)
Factor = Callable[[int], float]
"""A factor by the number of members of the group."""


def _as_it_is(_: int) -> float:
    return 1.0


def _all_but_own(members: int) -> float:
    return (members - 1) / members


def _there_and_back(members: int) -> float:
    return 2 * (members - 1) / members


def _of_all(members: int) -> float:
    return float(members)


@dataclass(frozen=True)
class Kind:
    """One kind of operation; its factors are functions of the number of members, which is at least 2.

    Attributes
    ----------
    spelling
        The beginning of its names once their punctuation is removed.
    bus_factor
        Bus bandwidth divided by algorithm bandwidth.
    whole
        All bytes of the operation divided by those that one member puts in.
    of_message
        The bytes that one member puts in, divided by the size that a call to NCCL states for its message.
    moves_data
        False for an operation that only synchronises.
    """

    name: str
    spelling: str
    bus_factor: Factor = _as_it_is
    whole: Factor = _as_it_is
    of_message: Factor = _as_it_is
    moves_data: bool = True


KINDS = (
    Kind("all_reduce", "allreduce", _there_and_back),
    Kind("reduce_scatter", "reducescatter", _all_but_own, of_message=_of_all),
    Kind("all_gather", "allgather", _all_but_own, _of_all),
    Kind("all_to_all", "alltoall", _all_but_own, of_message=_of_all),
    Kind("broadcast", "broadcast"),
    Kind("send_recv", "sendrecv"),
    Kind("reduce", "reduce"),
    Kind("gather", "gather", _all_but_own, _of_all),
    Kind("scatter", "scatter", _all_but_own),
    Kind("barrier", "barrier", moves_data=False),
    Kind("send", "send"),
    Kind("recv", "recv"),
)
"""All kinds, in the order in which names are compared: a kind stands before those it begins with."""
KIND = {kind.name: kind for kind in KINDS}
MESSAGES = ("send", "recv", "send_recv")
"""The kinds that pass data between single ranks."""

TRACE, NCCL_TESTS, NCCL_TABLE, NCCL_CHOICES, NCCL_CALLS = SOURCES = (
    "trace",
    "nccl-tests",
    "NCCL's table",
    "NCCL's choices",
    "NCCL's calls",
)
"""Where a transfer is known from.

A trace, from the rendezvous to the end; a measurement of NCCL's tests; NCCL's own table of latency and
bandwidth (its log with the subsystem TUNING), which is a model and no measurement; its choices of algorithm
and protocol (TUNING), and its calls (COLL), which state sizes and no times.
"""
ALGORITHMS = ("tree", "ring", "collnetdirect", "collnetchain", "nvls", "nvlstree", "pat")
"""NCCL's algorithms in the order of its numbers (NCCL 2.29, src/include/device.h)."""
PROTOCOLS = ("ll", "ll128", "simple")
"""NCCL's protocols in the order of its numbers, as above."""
RING, TREE = "ring", "tree"


FSDP = "FSDP::"
"""How the annotations of PyTorch's fully_shard begin."""
FSDP_GATHER, FSDP_TAKES_OVER = "FSDP::all_gather", "FSDP::all_gather_copy_out"
"""How those around a gather begin, and those that hand over what was gathered."""
_FSDP_MODULE = re.compile(r"FSDP::all_gather(?:_copy_out)? \((?P<module>.*)\)")


def gathered_module(name: str) -> str | None:
    """Read which module an annotation gathers or takes over: empty for the root, None if it does neither."""
    if not name.startswith(FSDP_GATHER):
        return None
    named = _FSDP_MODULE.fullmatch(name)
    return named["module"] if named else ""


@lru_cache(maxsize=4096)  # a job states few names, each of them thousands of times
def stated_kind(collective: str) -> str | None:
    """Find the kind that a name such as `_allgather_base` or `AllReduce` means; None for none."""
    letters = _NO_LETTER.sub("", collective.lower())
    return next((kind.name for kind in KINDS if letters.startswith(kind.spelling)), None)
