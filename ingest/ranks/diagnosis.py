"""What joining the ranks found odd: missing ranks, clocks, and operations that were not matched."""

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median

from tracegraph.ingest.integrity.unrecorded_path import diagnose_path
from tracegraph.ingest.integrity_findings import Finding, Integrity
from tracegraph.ingest.ranks.agreement import missing_ranks, world_size
from tracegraph.ingest.ranks.job import Job
from tracegraph.ingest.ranks.rank_part import Part
from tracegraph.ingest.trace import FileFacts

# The name under which findings about the whole job stand, and how many ranks or files a message lists.
_FILE, _SHOWN = "all ranks", 8
_OF_ONE_FILE = ("rank_missing", "other_ranks", "path_unrecorded", "path_mostly_unrecorded")
"""Codes that only a file alone leaves open and a job settles, or that are about the path of one file."""


def diagnose_job(job: Job) -> list[Finding]:
    """Collect the findings about the job as a whole, without those about each file."""
    integrity = Integrity(_FILE)
    _diagnose_ranks(job, integrity)
    _diagnose_clocks(job, integrity)
    _diagnose_operations(job, integrity)
    diagnose_path(job.model, integrity)
    return list(integrity)


def findings_of_files(parts: Sequence[Part]) -> list[dict[str, object]]:
    """List the findings of each file as plain rows, with names that distinguish the files.

    Files of one name are distinguished by their folders. The findings leave out that a file does not say its
    rank, which is known by now.
    """
    names = Counter(_last(part.file.path, 1) for part in parts)
    return [
        row | {"file": _last(part.file.path, 1 if names[_last(part.file.path, 1)] == 1 else 2)}
        for part in parts
        for row in part.integrity.rows()
        if row["code"] not in _OF_ONE_FILE
    ]


def _last(path: str, count: int) -> str:
    return "/".join(path.split("/")[-count:])


def _diagnose_ranks(job: Job, integrity: Integrity) -> None:
    size, missing = world_size(job.files), missing_ranks(job.files)
    message = f"{_named(missing)} of {size} are not here: when they came to an operation is unknown"
    integrity.add("ranks_missing", len(missing), message)
    beyond = [file for file in job.files if size is not None and file.rank >= size]
    message = f"files hold ranks that a job of {size} has not: {_files(beyond)}"
    integrity.add("rank_beyond_job", len(beyond), message)
    full = [file.rank for file in job.files if not file.in_short]
    message = (
        f"ranks are in short: their operations, and the times between these, are here, not what they worked "
        f"on; in full {'is' if len(full) == 1 else 'are'} {_named(full)}"
    )
    integrity.add("ranks_in_short", len(job.files) - len(full), message)
    strange = [file for file in job.files if file.rank in job.strangers]
    message = f"files share neither time nor operations with the others: {_files(strange)}"
    integrity.add("rank_of_other_job", len(strange), message)


def _files(files: list[FileFacts]) -> str:
    shown = ", ".join(f"{file.path} (rank {file.rank})" for file in files[:_SHOWN])
    return shown + (f" and {len(files) - _SHOWN} more" if len(files) > _SHOWN else "")


def _diagnose_clocks(job: Job, integrity: Integrity) -> None:
    alone = [rank for rank, clock in job.clocks.items() if clock.spread_ns is None]
    message = f"ranks share no operation with the others ({_named(alone)}): their clocks stay as they are"
    integrity.add("rank_unaligned", len(alone), message)
    moved = [rank for rank, clock in job.clocks.items() if clock.offset_ns or clock.drift_ppb]
    integrity.add("rank_clock_shifted", len(moved), "; ".join(_clocks(job, moved)))
    noisy = [clock.spread_ns for clock in job.clocks.values() if clock.spread_ns]
    if noisy:
        message = (
            f"ends of shared operations lie {median(noisy):,.0f} ns apart from the first rank's as a rule, "
            f"at most {max(noisy):,} ns: no time between ranks is known better than that"
        )
        integrity.add("rank_clock_spread", len(noisy), message)


def _clocks(job: Job, ranks: list[int]) -> Iterator[str]:
    for rank in ranks:
        clock = job.clocks[rank]
        drift = f" and {clock.drift_ppb:+,} ns each second" if clock.drift_ppb else ""
        yield f"all times of rank {rank} are moved by {clock.offset_ns:+,} ns{drift}"


def _diagnose_operations(job: Job, integrity: Integrity) -> None:
    for one in job.unmatched:
        message = f"communication events were not matched between ranks: {one.reason}"
        integrity.add("operations_unmatched", one.count, message)
    message = "operations are left out: by these clocks one member left before another came"
    integrity.add("operation_impossible", job.impossible, message)
    meetings = job.model.meetings
    absent = [] if meetings is None else [ranks for ranks in meetings.missing if ranks]
    if absent:
        ranks = sorted({rank for one in absent for rank in one})
        message = f"operations have members that no file holds ({_named(ranks)}): when they came is unknown"
        integrity.add("members_missing", len(absent), message)
    inferred = 0 if meetings is None else int((~meetings.recorded).sum())
    message = "operations are matched by name, size and order: the files number none"
    integrity.add("operations_by_order", inferred, message)


def _named(ranks: list[int]) -> str:
    shown = ", ".join(map(str, ranks[:_SHOWN]))
    more = f" and {len(ranks) - _SHOWN} more" if len(ranks) > _SHOWN else ""
    return f"rank{'s' if len(ranks) > 1 else ''} {shown}{more}"
