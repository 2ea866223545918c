"""The vocabulary of mechanisms: the rules that make dependencies, in the order that decides ties."""

from dataclasses import dataclass
from typing import Literal

from tracegraph.vocabulary import gaps

Kind = Literal["SEQUENTIAL", "INVOCATION", "SYNCHRONIZATION", "CROSS_THREAD"]
"""The four kinds of dependencies."""


@dataclass(frozen=True)
class Mechanism:
    """One rule: the kind of dependency that it makes, and the gap that its lag or wait usually is.

    `races` says whether the likelihood of its lag decides close races with other rules. `own_wait` says
    whether its waits end by themselves as far as the file shows, so that the thread would go on without
    them.
    """

    name: str
    kind: Kind
    gap: str
    meaning: str
    races: bool = False
    own_wait: bool = False


LAUNCH = "launch"
GRAPH_LAUNCH = "graph launch"
STREAM_ORDER = "stream order"
GRAPH_ORDER = "graph order"
STREAM_WAIT_EVENT = "stream wait event"
OPERATION_ORDER = "operation order"
STREAM_RESUME = "stream resume"
STREAM_SYNCHRONIZE = "stream synchronize"
DEVICE_SYNCHRONIZE = "device synchronize"
EVENT_SYNCHRONIZE = "event synchronize"
BLOCKING_COPY = "blocking copy"
IMPLICIT_SYNCHRONIZE = "implicit synchronize"
QUEUE_FULL = "queue full"
ALLOCATOR_FLUSH = "allocator flush"
SILENT_SYNCHRONIZE = "silent synchronize"
COLLECTIVE = "collective"
AUTOGRAD_HAND_OFF = "autograd hand-off"
AUTOGRAD_JOIN = "autograd join"
RESUME = "resume"
HAND_OVER = "hand-over"
SERIALISED = "serialised"
GIL_WAIT = "GIL wait"
GIL_HOLDER = "GIL holder"
WORK_IN_SHORT = "work in short"
PROGRAM_ORDER = "program order"
QUEUE_START = "queue start"


def _starts_work(name: str, kind: Kind, gap: str, meaning: str) -> Mechanism:
    return Mechanism(name, kind, gap, meaning, races=True)


def _for_gpu(name: str, meaning: str) -> Mechanism:
    return Mechanism(name, "SYNCHRONIZATION", gaps.WAITING_FOR_GPU, meaning)


def _for_thread(name: str, meaning: str) -> Mechanism:
    return Mechanism(name, "CROSS_THREAD", gaps.WAITING_FOR_THREAD, meaning)


def _for_gil(name: str, meaning: str, own_wait: bool = False) -> Mechanism:
    return Mechanism(name, "CROSS_THREAD", gaps.WAITING_FOR_GIL, meaning, own_wait=own_wait)


MECHANISMS = (
    _starts_work(LAUNCH, "INVOCATION", gaps.LAUNCH_LATENCY, "a call launches GPU work"),
    _starts_work(
        GRAPH_LAUNCH, "INVOCATION", gaps.LAUNCH_LATENCY, "a graph launch starts the first work of its graph"
    ),
    _starts_work(
        STREAM_ORDER, "SEQUENTIAL", gaps.STREAM_QUEUE, "work follows the work before it on its stream"
    ),
    _starts_work(
        GRAPH_ORDER, "SEQUENTIAL", gaps.STREAM_QUEUE, "work of a graph follows work that it depends on"
    ),
    _starts_work(STREAM_WAIT_EVENT, "SYNCHRONIZATION", gaps.WAITING_FOR_GPU, "a stream waits for an event"),
    _for_gpu(
        OPERATION_ORDER,
        "an operation follows one of another queue of its worker, as the program of its job says",
    ),
    _for_gpu(STREAM_RESUME, "work starts late, just after work on another stream of its device ended"),
    _for_gpu(STREAM_SYNCHRONIZE, "a call waits for a stream"),
    _for_gpu(DEVICE_SYNCHRONIZE, "a call waits for all streams of a device"),
    _for_gpu(EVENT_SYNCHRONIZE, "a call waits for an event on a stream"),
    _for_gpu(BLOCKING_COPY, "a copying call waits for its copy"),
    _for_gpu(IMPLICIT_SYNCHRONIZE, "a call that frees memory waits for its device"),
    _for_gpu(QUEUE_FULL, "a launching call waits for room in the launch queue"),
    _for_gpu(ALLOCATOR_FLUSH, "an allocator frees what it kept once the GPU has used it"),
    _for_gpu(SILENT_SYNCHRONIZE, "a thread, or a call of any name, goes on as enqueued work ends"),
    Mechanism(
        COLLECTIVE,
        "SYNCHRONIZATION",
        gaps.WAITING_FOR_RANK,
        "a collective waits for another rank",
        own_wait=True,
    ),
    _for_thread(AUTOGRAD_HAND_OFF, "the autograd engine's thread begins a backward pass"),
    _for_thread(AUTOGRAD_JOIN, "the caller goes on after the backward pass"),
    _for_thread(RESUME, "a silent thread goes on shortly after an end on another thread"),
    _for_thread(HAND_OVER, "a thread that another one waits for begins after a pause"),
    _for_gil(SERIALISED, "all threads of a process one after the other, by choice"),
    _for_gil(GIL_WAIT, "a thread is silent while another one runs Python", own_wait=True),
    _for_gil(GIL_HOLDER, "the thread that held the GIL first; never binding"),
    Mechanism(
        WORK_IN_SHORT,
        "SEQUENTIAL",
        gaps.IN_SHORT,
        "what a rank in short does from one of its operations to the next, all of it as one lag",
    ),
    Mechanism(PROGRAM_ORDER, "SEQUENTIAL", gaps.UNKNOWN, "the stretch before on the same thread"),
    Mechanism(
        QUEUE_START, "SEQUENTIAL", gaps.UNKNOWN, "GPU work that nothing explains, since the window began"
    ),
)
"""All rules; the position decides ties between causes that explain a start equally well."""
CODE = {mechanism.name: code for code, mechanism in enumerate(MECHANISMS)}
"""Position of each rule by its name."""
