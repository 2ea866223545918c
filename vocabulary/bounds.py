"""The vocabulary of what bounds a run: resources, each of which may cost no time, and floors."""

LEAST_GAIN = 0.01
"""A fix is reported only if it gains at least this share of the run, 0..1. Predictions are held to be right
within 1 % of the run in simulations (docs/accuracy.md): a smaller gain may be none."""

HOST, GPU, TRANSFERS, LOADING = "host work", "GPU computing", "transfers", "data loading"
WAITS, LAUNCHING, THREADS = "waits for the GPU", "launching", "other threads"
RANKS, TURNS, UNRECORDED = "other ranks", "turns of others", "unrecorded host time"
SEVERAL = "several"
"""Stands for the bottleneck if no resource gains clearly more than the next one."""
THREAD, DEVICE, LINK = "busiest thread", "busiest device", "busiest link"
"""Floors: no schedule of the work of a run is shorter than these."""

RESOURCES = {
    HOST: "what threads do, but for loading data and launching",
    GPU: "kernels that compute",
    TRANSFERS: "copies, and collectives",
    LOADING: "what threads do to fetch the next batch",
    WAITS: "waits of threads for the GPU",
    LAUNCHING: "calls that launch GPU work, and what passes until it begins",
    THREADS: "waits of threads for the GIL and for each other",
    RANKS: "waits for another rank; of a job with all its files, what one rank does more of than the others",
    TURNS: "turns of the GPU or the CPU that other processes or threads had",
    UNRECORDED: "time of threads in which nothing is recorded and nothing says that they wait",
}
"""Each resource and what counts towards it."""

OF_CALL = (("ynchronize", WAITS), ("aunch", LAUNCHING))
"""The resource that calls need, by a part of their name; all other calls are host work."""
BOTTLENECKS = {
    HOST: "cpu",
    GPU: "gpu",
    TRANSFERS: "communication",
    LOADING: "data_loading",
    WAITS: "synchronisation",
    LAUNCHING: "launch",
    THREADS: "gil",
    RANKS: "other_rank",
    TURNS: "turns",
    UNRECORDED: "unrecorded",
}
"""The name of each resource in a verdict, as a word for scripts."""
