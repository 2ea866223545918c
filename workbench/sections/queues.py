"""What is queued on each stream, and what copies move."""

from collections.abc import Iterator, Mapping, Sequence

from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Column, Table
from tracegraph.workbench.sections.section import GPU, Parameters, Scope, Section

_QUEUES = (
    Column("rank", "rank", "number"),
    Column("device", "GPU", "number", roomy=True),
    Column("stream", "stream", "number"),
    Column("mean", "mean length", "amount"),
    Column("median", "median", "amount"),
    Column("max", "longest", "count"),
    Column("full_ns", "full", "duration", roomy=True),
    Column("count", "launches and begins", "count", roomy=True),
)
_COPIES = (
    Column("rank", "rank", "number"),
    Column("copy_kind", "kind"),
    Column("count", "count", "count"),
    Column("bytes", "data", "bytes"),
    Column("duration_ns", "duration", "duration"),
    Column("median", "median bandwidth", "bandwidth"),
    Column("max", "greatest", "bandwidth"),
)
_MOST_ROWS = 100
"""How many rows each table lists."""


def _content(findings: Findings) -> Sequence[Block]:
    return list(_tables(findings))


def _tables(findings: Findings) -> Iterator[Block]:
    queues, copies = (findings.answers.get(name) for name in ("queue_length", "memory_bandwidth"))
    if queues is not None and not queues.empty:
        note = (
            "Launched and not begun: below 1 the stream waits for the host, a full queue makes the host wait."
        )
        yield Table(queues.head(_MOST_ROWS), _QUEUES, "Work that is queued on each stream:", note)
    if copies is not None and not copies.empty:
        yield Table(copies.head(_MOST_ROWS), _COPIES, "Copies and memsets by kind:")


def _asks(scope: Scope) -> Mapping[str, Parameters]:
    return dict.fromkeys(("queue_length", "memory_bandwidth"), scope.between) if scope.drawn else {}


SECTION = Section(128, "Queues and copies", _content, _asks, group=GPU)
