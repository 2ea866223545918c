"""The measures behind the checks of `health`: each a value of a job, with the rank that it is about."""

from collections.abc import Callable

import numpy as np

from tracegraph.base.units import format_bytes
from tracegraph.ingest.health.gpu_idle import IdleTime
from tracegraph.ingest.health.job_health import JobHealth
from tracegraph.ingest.health.rank_health import RankHealth
from tracegraph.vocabulary.integrity_codes import DOUBTFUL
from tracegraph.workbench.health.check import Measured, Untold
from tracegraph.workbench.text.text import format_ns, plural

FEWEST_STEPS = 4
"""Steps that a file needs for their spread: the first is left out, and two hardly tell anything."""
NO_GPU_WORK = Untold(
    "The files hold no work of a GPU.", "Record with ProfilerActivity.CUDA, on a machine with a GPU."
)


def input_errors(job: JobHealth) -> Measured:
    """Count the findings that are errors: each says that a number about the files may be wrong."""
    levels = [finding.level for one in job.ranks.values() for finding in one.findings]
    errors = {
        finding.code: rank
        for rank, one in sorted(job.ranks.items(), reverse=True)
        for finding in one.findings
        if finding.level == "error"
    }
    counts = (plural(levels.count(level), level) for level in DOUBTFUL)
    words = f"the files hold {' and '.join(counts)}"
    if errors:
        words += "; errors: " + ", ".join(f"{code} (rank {rank})" for code, rank in errors.items())
    if job.missing:
        are = "is" if len(job.missing) == 1 else "are"
        words += f"; {plural(len(job.missing), 'rank')} of {job.world_size} {are} not here"
    return Measured(levels.count("error"), words)


def step_spread(job: JobHealth) -> Measured | Untold:
    """Compute the deviation of the steps' lengths by their mean, of the rank where it is largest."""
    spreads = {
        rank: float(one.step_ns.std() / max(1.0, one.step_ns.mean()))
        for rank, one in job.ranks.items()
        if one.steps >= FEWEST_STEPS
    }
    if not spreads:
        most = max(one.steps for one in job.ranks.values())
        return Untold(
            f"The files hold {plural(most, 'step')}, and the spread needs {FEWEST_STEPS}.",
            "Record with schedule(active=5) or more and profiler.step(), or name your own marks with "
            "--step-marker.",
        )
    rank = max(spreads, key=spreads.__getitem__)
    steps = job.ranks[rank].step_ns
    words = (
        f"rank {rank}: {plural(len(steps), 'step')} of {format_ns(int(steps.min()))} to "
        f"{format_ns(int(steps.max()))}, in the middle {format_ns(int(np.median(steps)))}"
    )
    return Measured(spreads[rank], words)


def late_rank(job: JobHealth) -> Measured | Untold:
    """Compute how long the others wait for one rank and compute nothing, in the mean, by the window."""
    if job.waits is None or not job.waits.operations:
        alone = job.waits is None
        why = "Only one rank is here." if alone else "The ranks share no operation whose members can be told."
        if (
            alone
            and job.world_size in (None, 1)
            and not any(one.communication_ns for one in job.ranks.values())
        ):
            return Untold("The job has one rank, which waits for no other.", "Nothing is missing.")
        return Untold(why, "Record all ranks of the job over the same steps, and give all files.")
    late = job.waits.late
    if late is None:
        return Measured(0.0, f"no rank waits for another in {plural(job.waits.operations, 'operation')}")
    rank, each_ns = late
    length = max(one.length_ns for one in job.ranks.values())
    words = (
        f"the others wait {format_ns(each_ns)} each for rank {rank}, of {format_ns(length)}, in "
        f"{plural(job.waits.operations, 'operation')}"
    )
    return Measured(min(1.0, each_ns / length), words)


def gpu_idle(job: JobHealth) -> Measured | Untold:
    """Compute the share of the window in which no GPU runs anything, of the rank where it is largest."""
    return _worst_idle(job, lambda idle: idle.total, "nothing runs on the GPU")


def loader_stall(job: JobHealth) -> Measured | Untold:
    """Compute the share of the window in which the GPU is idle while the thread that feeds it loads data."""
    return _worst_idle(job, lambda idle: idle.loading, "the GPU waits for the next batch")


def sync_stall(job: JobHealth) -> Measured | Untold:
    """Compute the share of the window in which the GPU is idle after a call that waited until it was."""
    return _worst_idle(job, lambda idle: idle.after_waits, "the GPU waits for work after a synchronisation")


def launch_bound(job: JobHealth) -> Measured | Untold:
    """Compute the share of the window in which the GPU waits for the next launch of many."""
    return _worst_idle(job, lambda idle: idle.launching, "the GPU waits for the next launch")


def exposed_communication(job: JobHealth) -> Measured | Untold:
    """Compute the share of the window in which only communication runs, known waits for other ranks apart."""
    if not any(one.idle for one in job.ranks.values()):
        return NO_GPU_WORK
    waited = {} if job.waits is None else job.waits.waited
    exposed = {rank: max(0, one.exposed_ns - waited.get(rank, 0)) for rank, one in job.ranks.items()}
    rank = max(exposed, key=lambda one: exposed[one] / job.ranks[one].length_ns)
    value = exposed[rank] / job.ranks[rank].length_ns
    told = job.waits is not None and job.waits.operations
    beside = "" if told or not exposed[rank] else ", waits for ranks that are not here included"
    return Measured(
        value, f"{_of(job.ranks[rank], rank, exposed[rank])} in communication that nothing hides{beside}"
    )


def memory_used(job: JobHealth) -> Measured | Untold:
    """Compute the most that was allocated on a device at once by the memory of the device."""
    peaks = [(rank, peak) for rank, one in job.ranks.items() for peak in one.memory]
    if not peaks:
        return Untold("The files hold no memory of a GPU.", "Record with profile_memory=True.")
    sized = [(rank, peak, peak.capacity) for rank, peak in peaks if peak.capacity]
    if not sized:
        return Untold(
            "The files do not state how much memory the device has.",
            "Use the file that the profiler wrote, with its deviceProperties.",
        )
    rank, peak, capacity = max(sized, key=lambda one: one[1].allocated / one[2])
    least = "" if peak.is_total else "at least "
    words = (
        f"rank {rank}, device {peak.device}: {least}{format_bytes(peak.allocated)} of "
        f"{format_bytes(capacity)} allocated"
    )
    return Measured(peak.allocated / capacity, words)


def _worst_idle(job: JobHealth, chosen: Callable[[IdleTime], int], words: str) -> Measured | Untold:
    idle = {rank: chosen(one.idle) for rank, one in job.ranks.items() if one.idle is not None}
    if not idle:
        return NO_GPU_WORK
    rank = max(idle, key=lambda one: idle[one] / job.ranks[one].length_ns)
    own = job.ranks[rank]
    return Measured(idle[rank] / own.length_ns, f"{_of(own, rank, idle[rank])}: {words}")


def _of(one: RankHealth, rank: int, spent_ns: int) -> str:
    return f"rank {rank}, {format_ns(spent_ns)} of {format_ns(one.length_ns)}"
