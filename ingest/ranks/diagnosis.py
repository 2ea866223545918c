"""What joining the ranks found odd: ranks that are missing, clocks, and operations that were not matched."""

from collections.abc import Iterator
from statistics import median

from tracegraph.ingest.integrity.findings import Finding, Integrity
from tracegraph.ingest.ranks.job import Job

_FILE = "all ranks"


def diagnose_job(job: Job) -> list[Finding]:
    """The findings about the job as a whole, those about each file aside."""
    integrity = Integrity(_FILE)
    _diagnose_clocks(job, integrity)
    _diagnose_operations(job, integrity)
    return list(integrity)


def _diagnose_clocks(job: Job, integrity: Integrity) -> None:
    alone = [rank for rank, clock in job.clocks.items() if clock.spread_ns is None]
    message = f"share no operation with the others ({_named(alone)}): their clocks stay as they are"
    integrity.add("rank_unaligned", "warning", len(alone), f"ranks {message}")
    moved = [rank for rank, clock in job.clocks.items() if clock.offset_ns or clock.drift_ppb]
    integrity.add("rank_clock_shifted", "info", len(moved), "; ".join(_clocks(job, moved)))
    noisy = [clock.spread_ns for clock in job.clocks.values() if clock.spread_ns]
    if noisy:
        message = (
            f"ends of shared operations lie {median(noisy):,.0f} ns apart from the first rank's as a rule, "
            f"at most {max(noisy):,} ns: no time between ranks is known better than that"
        )
        integrity.add("rank_clock_spread", "info", len(noisy), message)


def _clocks(job: Job, ranks: list[int]) -> Iterator[str]:
    for rank in ranks:
        clock = job.clocks[rank]
        drift = f" and {clock.drift_ppb:+,} ns each second" if clock.drift_ppb else ""
        yield f"all times of rank {rank} are moved by {clock.offset_ns:+,} ns{drift}"


def _diagnose_operations(job: Job, integrity: Integrity) -> None:
    for one in job.unmatched:
        message = f"communication events were not matched between ranks: {one.reason}"
        integrity.add("operations_unmatched", "warning", one.count, message)
    message = "operations are left out: by these clocks one member left before another came"
    integrity.add("operation_impossible", "warning", job.impossible, message)
    meetings = job.model.meetings
    absent = [] if meetings is None else [ranks for ranks in meetings.missing if ranks]
    if absent:
        ranks = sorted({rank for one in absent for rank in one})
        message = f"operations have members that no file holds ({_named(ranks)}): when they came is unknown"
        integrity.add("members_missing", "info", len(absent), message)
    inferred = 0 if meetings is None else int((~meetings.recorded).sum())
    message = "operations are matched by name, size and order: the files number none"
    integrity.add("operations_by_order", "info", inferred, message)


def _named(ranks: list[int]) -> str:
    shown = ", ".join(map(str, ranks[:8]))
    return f"rank {shown}" + (f" and {len(ranks) - 8} more" if len(ranks) > 8 else "")
