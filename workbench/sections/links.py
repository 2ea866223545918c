"""Which share of the links between GPUs communication reaches, and what keeps it from more."""

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from tracegraph.base.units import format_bytes
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Column, Table, Words
from tracegraph.workbench.sections.section import OTHERS, Parameters, Scope, Section
from tracegraph.workbench.text.text import format_share

_MOST = 20
"""How many kinds and sizes of operations the table lists."""
_SIZES = (
    Column("rank", "rank", "number"),
    Column("name", "kind"),
    Column("group", "group", "name", roomy=True),
    Column("ranks", "ranks", "number"),
    Column("bytes", "data", "bytes"),
    Column("count", "count", "count"),
    Column("transfer_ns", "median", "duration"),
    Column("algorithm_bandwidth", "algorithm bandwidth", "bandwidth", roomy=True),
    Column("bus_bandwidth", "bus bandwidth", "bandwidth"),
    Column("share", "of the link", "share"),
    Column("spread", "spread", "amount"),
    Column("evidence", "evidence", roomy=True),
)
_NOTE = (
    "Bandwidths are counted as NCCL's tests do. The spread is the ninth decile of the times of equal "
    "messages divided by the first: much above 1, something else than the data decides, such as late ranks "
    "or a link that others use, too."
)
_ALONE = (
    "Of one rank nobody can tell whether a collective takes long for its transfer or for a rank that comes "
    "late: give the files of all ranks."
)


def _content(findings: Findings) -> Sequence[Block]:
    rows = findings.answers.get("link_use")
    if rows is None or rows.empty:
        return []
    blocks: list[Block] = [Words(sentence) for sentence in _reached(rows)]
    if rows["is_least"].all():
        blocks.append(Words(_ALONE, "note"))
    missing = dict.fromkeys(f"{one}." for text in rows["lacks"].dropna() for one in _sentences(str(text)))
    blocks += [Words(sentence, "note") for sentence in missing]
    return [*blocks, Table(rows, _SIZES, note=_NOTE)]


def _sentences(text: str) -> list[str]:
    return text.removesuffix(".").split(". ")


def _reached(rows: pd.DataFrame) -> Iterator[str]:
    """Yield a sentence on what takes longest of all whose share of a link is known."""
    known = rows[rows["share"].notna()]
    for row in known.head(1).to_dict("records"):
        least = "at least " if row["is_least"] else ""
        yield (
            f"What transfers longest, {row['name']} of {format_bytes(row['bytes'])} between {row['ranks']} "
            f"ranks, reaches {least}{format_bytes(round(row['bus_bandwidth']))}/s, "
            f"{format_share(row['share'])} of {row['link']} in one direction ({row['link_source']})."
        )


def _asks(scope: Scope) -> Mapping[str, Parameters]:
    if not scope.drawn and scope.job.link is None:
        return {}
    return {"link_use": {**scope.between, **scope.job.asked_of("link", "device"), "limit": _MOST}}


SECTION = Section(97, "Use of the links", _content, _asks, group=OTHERS)
