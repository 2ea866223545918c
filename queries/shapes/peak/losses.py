"""What the time of a step goes to on the GPUs of a rank, measured by their peak."""

from dataclasses import dataclass

from tracegraph.vocabulary import bounds, gaps, kernel_types

COMPUTE, ORCHESTRATION = "compute", "orchestration"
COMMUNICATION, MEMORY = kernel_types.COMMUNICATION, kernel_types.MEMORY
DOMAINS = (COMPUTE, COMMUNICATION, MEMORY, ORCHESTRATION)
"""What GPUs do meanwhile, and last: nothing, as whoever hands them work is late."""

USEFUL, RECOMPUTATION, BELOW_PEAK = "useful", "recomputation", "products below peak"
UNRATED, OTHER_COMPUTING = "products of unknown peak", "other computing"
TRANSFER, RANKS, EXPOSED_MEMORY = "exposed transfer", "exposed wait for ranks", "exposed memory"
LOADING, SYNCHRONISATION, LAUNCHING = bounds.LOADING, "synchronisation", bounds.LAUNCHING
HOST, OTHER_RANK, UNRECORDED, UNKNOWN = "host code", "other rank", "unrecorded", gaps.UNKNOWN


@dataclass(frozen=True)
class Loss:
    """One part of a step's time: its name, its domain and its meaning."""

    name: str
    domain: str
    meaning: str


LOSSES = (
    Loss(USEFUL, COMPUTE, "what the products of the step would take at the peak of the device"),
    Loss(RECOMPUTATION, COMPUTE, "the same of products that backward passes run once more"),
    Loss(BELOW_PEAK, COMPUTE, "the rest of the time in which products run"),
    Loss(
        UNRATED, COMPUTE, "products whose peak is not known, so that nobody can tell what of them is useful"
    ),
    Loss(OTHER_COMPUTING, COMPUTE, "no product whose FLOPs are known runs, but something else computes"),
    Loss(TRANSFER, COMMUNICATION, "nothing computes, and communication moves data or waits unseen"),
    Loss(RANKS, COMMUNICATION, "nothing computes, and communication waits for a rank that comes later"),
    Loss(EXPOSED_MEMORY, MEMORY, "only copies and memsets run"),
    Loss(LOADING, ORCHESTRATION, "the GPUs are idle, and the host fetches the next batch"),
    Loss(SYNCHRONISATION, ORCHESTRATION, "the GPUs are idle, and the host is in a call that waits for them"),
    Loss(LAUNCHING, ORCHESTRATION, "the GPUs are idle until work begins that is being launched"),
    Loss(HOST, ORCHESTRATION, "the GPUs are idle, and the host does other work, or one of its threads waits"),
    Loss(OTHER_RANK, ORCHESTRATION, "the GPUs are idle, and what they need comes from another rank"),
    Loss(UNRECORDED, ORCHESTRATION, "the GPUs are idle, and what goes on meanwhile is not in the file"),
    Loss(UNKNOWN, ORCHESTRATION, "the GPUs are idle, and nothing says why"),
)
"""All parts, in the order in which they take time that several of them could have."""
DOMAIN_OF = {loss.name: loss.domain for loss in LOSSES}
"""The domain of each part."""
OF_GAP = {
    gaps.UNKNOWN: UNKNOWN,
    gaps.UNTRACED_CPU: UNRECORDED,
    gaps.OUTSIDE_RECORDING: UNRECORDED,
    gaps.BUSY_GPU: UNKNOWN,
    gaps.UNRECORDED_GRAPH: UNRECORDED,
    gaps.GPU_TURN: UNRECORDED,
    gaps.EARLIER_WORK: UNRECORDED,
    gaps.LOST_WORK: UNRECORDED,
    gaps.CPU_TURN: HOST,
    gaps.NOT_RUNNING: HOST,
    gaps.IN_SHORT: UNRECORDED,
    gaps.LAUNCH_LATENCY: LAUNCHING,
    gaps.STREAM_QUEUE: LAUNCHING,
    gaps.WAITING_FOR_GPU: SYNCHRONISATION,
    gaps.WAITING_FOR_RANK: OTHER_RANK,
    gaps.WAITING_FOR_THREAD: HOST,
    gaps.WAITING_FOR_GIL: HOST,
}
"""The part that a gap belongs to while GPUs are idle."""
OF_RESOURCE = {bounds.WAITS: SYNCHRONISATION, bounds.LAUNCHING: LAUNCHING}
"""The part that a call belongs to, by the resource that it needs; of any other call the host's."""
