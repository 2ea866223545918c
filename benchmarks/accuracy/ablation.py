"""The contribution of each rule: the scores if one of them is left out of the causal model."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.accuracy.compare import GOOD, Result, compare
from benchmarks.accuracy.markdown import table
from benchmarks.accuracy.paths import read_columns
from benchmarks.accuracy.sets import Oracle, OracleSet
from tracegraph.ingest.array_tables import select_rows
from tracegraph.ingest.causal.clock import alignment as clock_alignment
from tracegraph.ingest.causal.clock.clock import GpuClock
from tracegraph.ingest.causal.events.events import Events
from tracegraph.ingest.causal.events.lanes import Lanes
from tracegraph.ingest.causal.graph import dependencies
from tracegraph.ingest.causal.graph.likelihood import Verdict, judge
from tracegraph.ingest.causal.graph.model import solve
from tracegraph.ingest.causal.graph.path_rows import path_rows
from tracegraph.ingest.causal.graph.solution import Solution
from tracegraph.ingest.causal.rules import EVIDENCE, POLICIES, SHARED, Adds, Rule, apply
from tracegraph.ingest.causal.rules.context import Context, find_context
from tracegraph.ingest.causal.rules.edges import Found
from tracegraph.ingest.causal.rules.gpu.invocation import invocation
from tracegraph.ingest.causal.rules.gpu.stream_waits import stream_waits
from tracegraph.ingest.causal.rules.gpu.synchronization import synchronization
from tracegraph.ingest.integrity_findings import Integrity

CLOCK_ERROR_NS = -30_000
"""By how much the GPU's rows are moved to judge the correction of clocks."""
RULES = (*SHARED, *POLICIES[EVIDENCE])
"""All rules of the default policy."""
_HALVES = (stream_waits, synchronization)
"""Rules that use rows of the file if there are some, and otherwise names and times."""
Find = Callable[[Context, Found], Found]


@dataclass(frozen=True)
class Case:
    """The model without one rule, or without something that the rules rest on.

    `context` and `replaced` take away what the rules rest on; `clock_error_ns` moves the GPU's rows.
    """

    name: str
    rules: tuple[Rule, ...] = RULES
    context: Callable[[Context], Context] = lambda context: context
    replaced: Callable[[], AbstractContextManager[object]] = nullcontext
    clock_error_ns: int = 0

    def solve(self, events: Events, lanes: Lanes, integrity: Integrity) -> Solution:
        """Build the causal graph of the events in this case."""
        with self.replaced():
            context = self.context(find_context(events.shift_gpu(self.clock_error_ns), lanes, integrity))
            return solve(context, apply(self.rules, context, Found()), EVIDENCE)


def cases() -> list[Case]:
    """List the whole model, then each rule left out, each half of some, and what the rules rest on."""
    return [
        Case("nothing"),
        *(Case(_name(rule.find), tuple(other for other in RULES if other != rule)) for rule in RULES),
        *(
            Case(f"{_name(rule)}, {half}", _instead(rule, _without_half(rule, recorded=half == "recorded")))
            for rule in _HALVES
            for half in ("recorded", "inferred")
        ),
        Case("launches from inside a call that still runs", _instead(invocation, _returned_calls)),
        Case("usual lags measured in the file", context=_without_lags),
        Case(
            "close races by likelihood", replaced=lambda: patch.object(dependencies, "judge", _without_races)
        ),
        Case("nothing, the GPU's clock 30 µs early", clock_error_ns=CLOCK_ERROR_NS),
        Case(
            "correction of clocks, the GPU's clock 30 µs early",
            replaced=lambda: patch.object(clock_alignment, "gpu_clock", _as_it_is),
            clock_error_ns=CLOCK_ERROR_NS,
        ),
    ]


def _name(find: Find) -> str:
    return find.__name__.replace("_", " ")


def _instead(rule: Find, other: Find) -> tuple[Rule, ...]:
    """Return all rules with another function in the place of one."""
    return tuple(Adds(other) if mine.find is rule else mine for mine in RULES)


def _without_half(rule: Find, *, recorded: bool) -> Find:
    def find(context: Context, found: Found) -> Found:
        mine = rule(context, found)
        edges, waits = mine.edges, mine.waits
        return Found(
            select_rows(edges, edges.recorded != recorded), select_rows(waits, waits.recorded != recorded)
        )

    return find


def _returned_calls(context: Context, found: Found) -> Found:
    """Find launches, except for those of work that began before its call returned."""
    edges = invocation(context, found).edges
    call = context.launches.call[edges.effect_event]
    return Found(select_rows(edges, edges.effect_time >= context.events.end[call]))


def _without_lags(context: Context) -> Context:
    none = np.zeros_like(context.lags.stream_order)
    return replace(
        context, lags=replace(context.lags, launch_from_start=0, launch_from_end=0, stream_order=none)
    )


def _without_races(*arguments: Any) -> Verdict:
    verdict = judge(*arguments)
    return replace(verdict, favoured=verdict.favoured & False, open_race=verdict.open_race & False)


def _as_it_is(*_: Any) -> GpuClock:
    return GpuClock()


def ablate(oracle: Oracle, sets: Sequence[OracleSet]) -> Iterator[list[Result]]:
    """Yield the results of each set in every case."""
    scorer = oracle.scorer()
    for one in sets:
        with oracle.made(one):
            events, lanes, integrity = read_columns(one.trace)
            found = [path_rows(case.solve(events, lanes, integrity)) for case in cases()]
            results = [compare(one, rows, scorer) for rows in found]
        yield results


def describe_ablation(results: Sequence[Sequence[Result]]) -> str:
    """Write the Markdown: one line for each case, with how many sets fall below `GOOD` and how low."""
    columns = [
        "left out",
        f"sets below {GOOD}",
        "worst recall",
        "worst overlap",
        "mean recall",
        "mean overlap",
    ]
    rows = []
    for case, scored in zip(cases(), zip(*results, strict=True), strict=True):
        recall, overlap = [r.recall for r in scored], [r.overlap for r in scored]
        means = [sum(values) / len(scored) for values in (recall, overlap)]
        below = sum(r.least < GOOD for r in scored)
        figures = [f"{value:.4f}" for value in (min(recall), min(overlap), *means)]
        rows.append([case.name, f"{below} of {len(scored)}", *figures])
    sets = f"{len(results)} sets of {results[0][0].of.events:,} events, in memory:"
    return f"{sets}\n\n{table(columns, rows)}"
