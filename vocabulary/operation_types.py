"""The vocabulary of operation logs: the types of operations that a job of several workers writes down.

The names are those of Megatron-like jobs, as in *Understanding Stragglers in Large Model Training Using
What-if Analysis* (OSDI 2025). No other module writes them down: code asks for the role.
"""

from dataclasses import dataclass

COMPUTATION, DATA_PARALLEL = "computation", "data parallel"
"""The queue in which a worker computes, and that of its messages to other data-parallel ranks."""


@dataclass(frozen=True)
class OperationType:
    """One type of operations.

    Attributes
    ----------
    stream
        The queue of its worker in which it runs, after the operation before it there.
    collective
        The kind of operation between workers, None for work of one worker alone.
    communicates
        Whether its time is transfer, whose middle is a median; else it is work, with a mean.
    counted_as
        The name under which a table of types counts it.
    """

    name: str
    stream: str
    collective: str | None = None
    communicates: bool = False
    counted_as: str = ""


def _message(direction: str, side: str) -> OperationType:
    name = f"{direction}-{side}"
    return OperationType(name, name, side, True, f"{direction}-pp-comm")


def _collective(name: str, kind: str | None, stream: str = DATA_PARALLEL) -> OperationType:
    return OperationType(name, stream, kind, True)


FORWARD = OperationType("forward-compute", COMPUTATION)
BACKWARD = OperationType("backward-compute", COMPUTATION)
FORWARD_SEND, FORWARD_RECEIVE = _message("forward", "send"), _message("forward", "recv")
BACKWARD_SEND, BACKWARD_RECEIVE = _message("backward", "send"), _message("backward", "recv")
GATHER = _collective("params-all-gather", "all_gather")
REDUCE_SCATTER = _collective("grads-reduce-scatter", "reduce_scatter")
SEPARATE_REDUCE = _collective("separate-grads-all-reduce", "all_reduce")
GARBAGE = OperationType("gc", COMPUTATION)
LAYER_NORM = _collective("layernorm-grads-all-reduce", None, COMPUTATION)
EMBEDDING = _collective("embedding-grads-all-reduce", "all_reduce", COMPUTATION)
CLIP = _collective("optimizer-clip-main-grad", "all_reduce", COMPUTATION)
OPTIMIZER = OperationType("optimizer", COMPUTATION)

OPERATION_TYPES = (
    FORWARD,
    BACKWARD,
    FORWARD_SEND,
    FORWARD_RECEIVE,
    BACKWARD_SEND,
    BACKWARD_RECEIVE,
    GATHER,
    REDUCE_SCATTER,
    SEPARATE_REDUCE,
    GARBAGE,
    LAYER_NORM,
    EMBEDDING,
    CLIP,
    OPTIMIZER,
)
"""All types."""
OPERATION_TYPE = {one.name: one for one in OPERATION_TYPES}
"""Each type by its name."""
PASSES = (
    (FORWARD, FORWARD_SEND, FORWARD_RECEIVE, 1),
    (BACKWARD, BACKWARD_SEND, BACKWARD_RECEIVE, -1),
)
"""Each pass over the model: its work, how it hands on and takes over, and to which stage it goes next."""
BETWEEN_DATA_PARALLEL = frozenset(one.name for one in (GATHER, REDUCE_SCATTER, SEPARATE_REDUCE))
"""Types that the ranks of one stage do together."""
COMMUNICATION_NAMES = frozenset(one.name for one in OPERATION_TYPES if one.communicates)
"""Names of the types that are communication."""


def counted_as(name: str) -> str:
    """Return the name under which a table of types counts a type: both sides of a message are one."""
    return OPERATION_TYPE[name].counted_as or name
