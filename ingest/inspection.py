"""What a report on a trace could stand for, found out without storing anything."""

from dataclasses import asdict, dataclass
from pathlib import Path

from tracegraph.ingest.integrity.findings import Finding, Integrity
from tracegraph.ingest.limits import DEFAULT_LIMITS, Limits
from tracegraph.ingest.pipeline import build_checked
from tracegraph.ingest.readers import read_trace


@dataclass(frozen=True)
class Inspection:
    """A usable trace: what it holds, and the findings about it, errors first; `window_ns` is a length."""

    sha256: str
    rank: int
    events: int
    threads: int
    streams: int
    steps: int
    window_ns: int
    findings: tuple[Finding, ...]

    def as_row(self) -> dict[str, object]:
        """The attributes as JSON can hold them."""
        return asdict(self)


def inspect_trace(path: Path, limits: Limits = DEFAULT_LIMITS) -> Inspection:
    """Read a trace, build its causal model in memory and check both; InputError when it cannot be used."""
    integrity = Integrity(path.name)
    trace = read_trace(path, integrity, limits)
    model = build_checked(trace, integrity)
    threads = int(model.lanes.is_thread.sum())
    return Inspection(
        sha256=trace.sha256,
        rank=trace.rank,
        events=trace.events.num_rows,
        threads=threads,
        streams=len(model.lanes.frame) - threads,
        steps=len(model.steps.number),
        window_ns=model.window.end - model.window.start,
        findings=tuple(integrity),
    )
