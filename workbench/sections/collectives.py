"""The operations in which ranks met: how far apart they came, and how long the transfer took."""

from collections.abc import Mapping, Sequence

from tracegraph.vocabulary.collectives import LATE_ARRIVAL, MIXED, TRANSFER
from tracegraph.vocabulary.gaps import UNKNOWN
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Column, Table, Words
from tracegraph.workbench.sections.section import OTHERS, Parameters, Scope, Section

_MOST_KINDS, _MOST_OPERATIONS = 20, 20
"""How many kinds and single operations the tables list."""
_SIZES = (
    Column("name", "kind"),
    Column("group", "group", "name"),
    Column("bytes", "data", "bytes"),
)
_KINDS = (
    *_SIZES,
    Column("count", "count", "count"),
    Column("skew_ns", "waiting for the last", "duration"),
    Column("median_skew_ns", "median", "duration", roomy=True),
    Column("longest_skew_ns", "longest", "duration"),
    Column("transfer_ns", "transfer", "duration"),
    Column("median_transfer_ns", "median", "duration", roomy=True),
    Column("bus_bandwidth", "bus bandwidth", "bandwidth"),
)
_OPERATIONS = (
    Column("group_sequence", "number", "number", roomy=True),
    *_SIZES,
    Column("members", "members", "count"),
    Column("last_rank", "last rank", "number"),
    Column("skew_ns", "after the first", "duration"),
    Column("transfer_ns", "transfer", "duration"),
    Column("algorithm_bandwidth", "algorithm bandwidth", "bandwidth", roomy=True),
    Column("bus_bandwidth", "bus bandwidth", "bandwidth"),
    Column("cause", "takes long for"),
    Column("evidence", "evidence", roomy=True),
)


def _content(findings: Findings) -> Sequence[Block]:
    kinds, operations = (findings.answers.get(name) for name in ("collective_kinds", "collectives"))
    if kinds is None or operations is None:
        return []
    if kinds.empty:
        return [Words("the files share no operation")]
    note = (
        "Until the last member came the others waited, which is no communication. Data and bandwidths are "
        "counted as NCCL's tests do."
    )
    caption = "The operations that waited longest for their last member:"
    causes = (
        f"An operation takes long for its {TRANSFER} or for the {LATE_ARRIVAL} of its last member if that is "
        f"two thirds of it, else it is {MIXED}; where clocks or missing files leave that open, {UNKNOWN}."
    )
    return [Table(kinds, _KINDS, note=note), Table(operations, _OPERATIONS, caption, causes)]


def _asks(scope: Scope) -> Mapping[str, Parameters]:
    if scope.ranks < 2:
        return {}
    return {
        "collective_kinds": {**scope.between, "limit": _MOST_KINDS},
        "collectives": {**scope.between, "limit": _MOST_OPERATIONS},
    }


SECTION = Section(95, "Collectives", _content, _asks, group=OTHERS)
