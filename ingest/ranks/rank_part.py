"""One rank, read and understood by itself: what it brings to the graph of its job."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import get_origin, get_type_hints

import numpy as np
import pyarrow as pa

from tracegraph.base.parallel import beside
from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.events.event_arrays import read_events
from tracegraph.ingest.causal.events.step_marks import refuse_unmarked
from tracegraph.ingest.causal.graph.allocations import Allocations, find_allocations, no_allocations
from tracegraph.ingest.causal.graph.invariants import check_model
from tracegraph.ingest.causal.graph.model import RankModel, build_model
from tracegraph.ingest.causal.rules.context import Scene
from tracegraph.ingest.causal.rules.edges import Found
from tracegraph.ingest.causal.rules.stated import read_stated
from tracegraph.ingest.flops.counting import WORK_COLUMNS, CountedWork, with_work
from tracegraph.ingest.integrity.diagnosis import diagnose
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.measures.measures import COUNTER_COLUMNS, Measures, measure
from tracegraph.ingest.options import DEFAULT_OPTIONS, IngestOptions
from tracegraph.ingest.ranks.communication import COMMUNICATION_COLUMNS, with_communication
from tracegraph.ingest.ranks.members import Member, find_members
from tracegraph.ingest.ranks.short.in_short import in_short
from tracegraph.ingest.sources.reading import read_ranks
from tracegraph.ingest.sources.source import Source
from tracegraph.ingest.text_columns import arrow_texts
from tracegraph.ingest.trace import STATED_COLUMNS, FileFacts, TraceFile, file_facts
from tracegraph.vocabulary.categories import LIBRARY_COLLECTIVE

_STATED = (*STATED_COLUMNS, *WORK_COLUMNS, *COMMUNICATION_COLUMNS)


@dataclass(frozen=True)
class Part:
    """A rank on its own clock.

    `found`: what the rules find under each policy. `stated`: what nodes carry of its events. `window_start`:
    from when on the drift of its GPU's clock is told, ns. `operations`: those of a log, in OPERATION_SCHEMA.
    """

    file: FileFacts
    rank_stated: bool
    scene: Scene
    found: Mapping[str, Found]
    members: list[Member]
    stated: pa.Table
    allocations: Allocations
    measures: Measures
    integrity: Integrity
    operations: pa.Table

    @property
    def rank(self) -> int:
        """Its rank in the job."""
        return self.file.rank

    @property
    def is_whole(self) -> bool:
        """Whether each attribute is of its type and the table has its columns, as `understand` makes them."""
        kinds = get_type_hints(Part)
        fit = (
            isinstance(getattr(self, name, None), get_origin(kinds[name]) or kinds[name]) for name in kinds
        )
        return all(fit) and self.stated.column_names == list(_STATED)


def build_checked(
    trace: TraceFile,
    integrity: Integrity,
    options: IngestOptions = DEFAULT_OPTIONS,
    *,
    of_job: bool = False,
    replayed: bool = True,
) -> RankModel:
    """Build the causal model of a trace, check its invariants and add to `integrity` what it finds odd.

    `replayed`: whether its replay is checked, too; see `check_model`.

    Raises
    ------
    InputError
        The step marker of `options` names no annotation. One rank of a job may have none.
    """
    model = build_unchecked(trace, integrity, options, of_job=of_job)
    with checked(model, integrity, replayed=replayed):
        return model


def build_unchecked(
    trace: TraceFile, integrity: Integrity, options: IngestOptions = DEFAULT_OPTIONS, *, of_job: bool = False
) -> RankModel:
    """As `build_checked`, of which the block of `checked` does the rest."""
    events, lanes = read_events(trace, options.step_marker)
    if not of_job:
        refuse_unmarked([events], options.step_marker)
    return build_model(events, lanes, integrity, options.policy, read_stated(trace, lanes))


@contextmanager
def checked(model: RankModel, integrity: Integrity, *, replayed: bool = True) -> Iterator[None]:
    """Check the invariants of a model beside the block, and add to `integrity` what is odd about it."""
    checking = beside(lambda: check_model(model, replayed=replayed))
    diagnose(model, integrity)
    yield
    checking.result()


def read_all_parts(
    source: Source, options: IngestOptions = DEFAULT_OPTIONS, *, in_short: bool = False
) -> list[Part]:
    """Read a file of a job and find out all that can be known of each of its ranks alone, in their order.

    That is under each policy of the options; findings are about the chosen one. `in_short`: only what other
    ranks need to know of them, under the chosen policy. InputError where the file cannot be used.
    """
    ranks = read_ranks(source, Integrity(source.name, options.limits), of_job=True)
    understood = understand_in_short if in_short else understand
    return [understood(trace, integrity, options) for trace, integrity in ranks]


def understand(trace: TraceFile, integrity: Integrity, options: IngestOptions = DEFAULT_OPTIONS) -> Part:
    """As `read_all_parts`, of a trace that is read."""
    model = build_checked(trace, integrity, options, of_job=True)
    context = model.scene
    stated, measures = measure(trace, model, integrity)
    members = find_members(model, trace.events)
    return Part(
        file=file_facts(trace, model.clock_offset_ns, model.clock_drift_ppb),
        rank_stated=trace.rank_stated,
        scene=Scene(**{name: getattr(context, name) for name in Scene.__dataclass_fields__}),
        found={one: model.found if one == options.policy else model.under(one) for one in options.policies},
        members=members,
        stated=with_communication(stated, members).select(_STATED),
        allocations=find_allocations(trace, model),
        measures=measures,
        integrity=integrity,
        operations=trace.operations,
    )


def understand_in_short(
    trace: TraceFile, integrity: Integrity, options: IngestOptions = DEFAULT_OPTIONS
) -> Part:
    """As `understand`, but keep only the operations with other ranks, and what lies between them as lags."""
    model = build_checked(trace, integrity, options, of_job=True, replayed=False)
    members = find_members(model, trace.events)
    rows = np.unique(np.array([one.event for one in members], dtype=np.int64))
    short = in_short(model, rows)
    place = dict(zip(rows.tolist(), range(len(rows)), strict=True))
    moved = [replace(one, event=place[one.event]) for one in members]
    file = file_facts(trace, model.clock_offset_ns, model.clock_drift_ppb)
    return Part(
        file=replace(file, in_short=True),
        rank_stated=trace.rank_stated,
        scene=short.scene,
        found=dict.fromkeys(options.policies, short.found),
        members=moved,
        stated=_stated_in_short(trace, rows, moved),
        allocations=no_allocations(),
        measures=Measures(np.full(len(rows), -1, dtype=np.int64), COUNTER_COLUMNS.empty_table()),
        integrity=integrity,
        operations=trace.operations,
    )


def _stated_in_short(trace: TraceFile, rows: Ints, members: list[Member]) -> pa.Table:
    """Take what the file states of operations; their operators, whose work could be counted, are not here."""
    no = np.full(len(rows), -1, dtype=np.int64)
    stated = with_work(trace.events.take(pa.array(rows)), CountedWork(no, no, []))
    category = arrow_texts(np.zeros(len(rows), dtype=np.int32), [LIBRARY_COLLECTIVE])
    place = stated.schema.get_field_index("category")
    stated = stated.set_column(place, stated.schema.field(place), category)
    return with_communication(stated, members).select(_STATED)
