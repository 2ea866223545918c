"""The vocabulary of gaps: names of stretches of the path without an event."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Gap:
    """One name of gaps, and its meaning."""

    name: str
    meaning: str


UNKNOWN = "unknown"
UNTRACED_CPU = "untraced CPU time"
OUTSIDE_RECORDING = "outside this rank's recording"
BUSY_GPU = "GPU busy with other work"
UNRECORDED_GRAPH = "unrecorded graph work"
GPU_TURN = "GPU turn of another process"
EARLIER_WORK = "work from before the recording"
LOST_WORK = "work whose rows are missing"
CPU_TURN = "CPU turn of another thread"
NOT_RUNNING = "thread not running"
LAUNCH_LATENCY = "launch latency"
STREAM_QUEUE = "stream queue"
WAITING_FOR_GPU = "waiting for GPU"
WAITING_FOR_RANK = "waiting for another rank"
WAITING_FOR_THREAD = "waiting for another thread"
WAITING_FOR_GIL = "waiting for the GIL"
IN_SHORT = "work of a rank in short"

GAPS = (
    Gap(UNKNOWN, "no rule explains it"),
    Gap(UNTRACED_CPU, "no event is open on the thread, and no rule says that it waits"),
    Gap(OUTSIDE_RECORDING, "other ranks' files begin earlier or end later than this rank's"),
    Gap(BUSY_GPU, "work that could have started while its GPU ran other work"),
    Gap(UNRECORDED_GRAPH, "kernels of a graph launch that the file does not hold"),
    Gap(GPU_TURN, "the GPU paused as its turn went to another process"),
    Gap(EARLIER_WORK, "the queue held work that was enqueued before the file begins"),
    Gap(LOST_WORK, "launches that stand before it in its queue have no GPU work in the file"),
    Gap(CPU_TURN, "the thread could have run, but the system ran another one"),
    Gap(LAUNCH_LATENCY, "from a launching call to its work"),
    Gap(STREAM_QUEUE, "from one work of a stream to the next"),
    Gap(WAITING_FOR_GPU, "a call, a copy or a stream waits for work on the GPU"),
    Gap(WAITING_FOR_RANK, "a collective that not all ranks have reached"),
    Gap(WAITING_FOR_THREAD, "a thread that another one hands over to"),
    Gap(WAITING_FOR_GIL, "a thread while another one runs Python"),
    Gap(NOT_RUNNING, "no event is open on the thread, and it was off the CPU: why is not recorded"),
    Gap(IN_SHORT, "what a rank in short does between operations: its file says what that is"),
)
"""All names of gaps; their order gives their codes."""
NOT_IN_FILE = (OUTSIDE_RECORDING, UNRECORDED_GRAPH, EARLIER_WORK, LOST_WORK)
"""Gaps in which something ran, as the file shows, that it does not hold: its cost is unknown."""
GAP_NAMES = tuple(gap.name for gap in GAPS)
"""The names by code."""
GAP_CODE = {name: code for code, name in enumerate(GAP_NAMES)}
"""The code of each name."""
