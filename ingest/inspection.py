"""Find out what a report on a trace could rest on, without storing anything."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from tracegraph.base.errors import InputError
from tracegraph.base.progress import Progress, silent
from tracegraph.ingest.integrity_findings import Finding, Integrity
from tracegraph.ingest.limits import DEFAULT_LIMITS, Limits
from tracegraph.ingest.options import IngestOptions
from tracegraph.ingest.ranks.agreement import agree, placed_ranks
from tracegraph.ingest.ranks.diagnosis import diagnose_job
from tracegraph.ingest.ranks.job import build_job
from tracegraph.ingest.ranks.rank_part import Part, understand
from tracegraph.ingest.ranks.reading import try_parts
from tracegraph.ingest.recording_advice import unanswered
from tracegraph.ingest.sources.reading import read_ranks
from tracegraph.ingest.sources.source import Source


@dataclass(frozen=True)
class Inspection:
    """A usable trace: what it holds, and the findings about it, errors first; `window_ns` is a length."""

    sha256: str
    rank: int
    events: int
    threads: int
    streams: int
    steps: int
    memory_rows: int
    window_ns: int
    findings: tuple[Finding, ...]
    ranks: tuple[int, ...] = ()
    """All ranks of a file that holds several."""
    unanswered: tuple[tuple[str, str], ...] = ()
    """What it cannot answer, and what to record for that."""

    def as_row(self) -> dict[str, object]:
        """Return the attributes in the form that JSON can hold."""
        return asdict(self)


@dataclass(frozen=True)
class JobInspection:
    """Several traces as the ranks of one job: in how many operations they met, and the findings."""

    ranks: tuple[int, ...]
    operations: int
    findings: tuple[Finding, ...]

    def as_row(self) -> dict[str, object]:
        """Return the attributes in the form that JSON can hold."""
        return asdict(self)


def inspect_traces(
    sources: Sequence[Source], limits: Limits = DEFAULT_LIMITS, progress: Progress = silent
) -> tuple[list[Inspection | InputError], JobInspection | InputError | None]:
    """Say what each trace holds, or why it cannot be used, and what joining the usable ones would find.

    Each trace is read, and its causal model is built in memory and checked; nothing is stored.

    Returns
    -------
    traces, job
        For each source its inspection, or the error for which it cannot be used; and the inspection of the
        job, or the error for which the ranks cannot be joined, None if there are fewer than two usable
        ranks.
    """
    if len(sources) == 1:
        return _inspect_alone(sources[0], limits)
    found = try_parts(sources, IngestOptions(limits, compared=False), progress)
    parts = [part for one in found if not isinstance(one, InputError) for part in one]
    ranks = iter(placed_ranks(parts))
    one_by_one = [
        one if isinstance(one, InputError) else _all_of([_inspect(part, next(ranks) or 0) for part in one])
        for one in found
    ]
    if len(parts) < 2:
        return one_by_one, None
    progress("joining the ranks", 0, 0)
    return one_by_one, _inspect_job(parts)


def _inspect_alone(
    source: Source, limits: Limits
) -> tuple[list[Inspection | InputError], JobInspection | InputError | None]:
    """Do the same for one file, which may hold several ranks itself."""
    try:
        ranks = read_ranks(source, Integrity(source.name, limits))
        parts = [understand(trace, integrity, IngestOptions(compared=False)) for trace, integrity in ranks]
    except InputError as error:
        return [error], None
    inspections = [_inspect(part, part.rank, alone=len(parts) == 1) for part in parts]
    return [_all_of(inspections)], _inspect_job(parts) if len(parts) > 1 else None


def _all_of(ranks: Sequence[Inspection]) -> Inspection:
    """Sum up the inspections of all ranks of one file."""
    if len(ranks) == 1:
        return ranks[0]
    sums = ("events", "threads", "streams", "steps", "memory_rows")
    findings = [
        replace(finding, message=f"rank {one.rank}: {finding.message}" if k else finding.message)
        for k, one in enumerate(ranks)
        for finding in one.findings
    ]
    return replace(
        ranks[0],
        **{name: sum(getattr(one, name) for one in ranks) for name in sums},
        window_ns=max(one.window_ns for one in ranks),
        findings=tuple(findings),
        ranks=tuple(one.rank for one in ranks),
    )


def _inspect(part: Part, rank: int, *, alone: bool = False) -> Inspection:
    lanes = part.scene.lanes
    threads = int(lanes.is_thread.sum())
    return Inspection(
        sha256=part.file.sha256,
        rank=rank,
        events=part.stated.num_rows,
        threads=threads,
        streams=len(lanes.frame) - threads,
        steps=len(part.scene.steps.number),
        memory_rows=len(part.allocations),
        window_ns=part.scene.window.end - part.scene.window.start,
        findings=tuple(part.integrity),
        unanswered=tuple((one.question, one.record) for one in unanswered(part, alone=alone)),
    )


def _inspect_job(parts: Sequence[Part]) -> JobInspection | InputError:
    try:
        job = build_job(agree(parts))
    except InputError as error:
        return error
    return JobInspection(
        ranks=tuple(file.rank for file in job.files),
        operations=0 if job.model.meetings is None else len(job.model.meetings),
        findings=tuple(diagnose_job(job)),
    )
