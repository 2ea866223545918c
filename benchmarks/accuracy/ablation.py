"""What each rule adds: the scores when one of them is left out of the causal model."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.accuracy.compare import GOOD, Result, compare
from benchmarks.accuracy.markdown import table
from benchmarks.accuracy.paths import read_columns
from benchmarks.accuracy.sets import Oracle, OracleSet
from tracegraph.ingest.causal import basis as basis_rules
from tracegraph.ingest.causal import dependencies
from tracegraph.ingest.causal.array_tables import select_rows
from tracegraph.ingest.causal.basis import Basis, find_basis
from tracegraph.ingest.causal.clock import GpuClock
from tracegraph.ingest.causal.edges import Edges, Waits
from tracegraph.ingest.causal.events import Flags
from tracegraph.ingest.causal.launches import Lags, measure_lags
from tracegraph.ingest.causal.likelihood import Verdict, judge
from tracegraph.ingest.causal.model import Solution, solve
from tracegraph.ingest.causal.path_rows import path_rows
from tracegraph.ingest.causal.policies import EVIDENCE, find_edges
from tracegraph.store.mechanisms import (
    AUTOGRAD_HAND_OFF,
    AUTOGRAD_JOIN,
    CODE,
    DEVICE_SYNCHRONIZE,
    EVENT_SYNCHRONIZE,
    GIL_HOLDER,
    GIL_WAIT,
    HAND_OVER,
    LAUNCH,
    MECHANISMS,
    PROGRAM_ORDER,
    QUEUE_START,
    RESUME,
    SERIALISED,
    STREAM_SYNCHRONIZE,
    STREAM_WAIT_EVENT,
)

CLOCK_ERROR_NS = -30_000
"""By how much the GPU's rows are moved where the correction of clocks is judged."""
_HOST_WAITS = (STREAM_SYNCHRONIZE, DEVICE_SYNCHRONIZE, EVENT_SYNCHRONIZE)
_AUTOGRAD, _RESUME = (AUTOGRAD_HAND_OFF, AUTOGRAD_JOIN), (RESUME, HAND_OVER)
_GIL = (GIL_WAIT, GIL_HOLDER)
_TOGETHER = {STREAM_WAIT_EVENT, *_HOST_WAITS, *_AUTOGRAD, *_RESUME, *_GIL}
_NEVER_LEFT_OUT = {PROGRAM_ORDER, QUEUE_START, SERIALISED}
Chosen = Callable[[Basis, Edges], Flags]


def _nothing(_: Basis, edges: Edges) -> Flags:
    return np.zeros(len(edges), dtype=bool)


@dataclass(frozen=True)
class Case:
    """The model without one rule: edges left out, functions replaced, the GPU's clock wrong."""

    name: str
    left_out: Chosen = _nothing
    replaced: Mapping[tuple[ModuleType, str], Callable[..., Any]] = field(default_factory=dict)
    clock_error_ns: int = 0


def _made_by(*names: str, recorded: bool | None = None) -> Chosen:
    codes = [CODE[name] for name in names]

    def chosen(_: Basis, edges: Edges) -> Flags:
        found: Flags = np.isin(edges.mechanism, codes)
        return found if recorded is None else found & (edges.recorded == recorded)

    return chosen


def _from_inside_a_call(basis: Basis, edges: Edges) -> Flags:
    call = basis.launches.call[edges.effect_event]
    inside: Flags = (edges.mechanism == CODE[LAUNCH]) & (edges.effect_time < basis.events.end[call])
    return inside


def _no_lags(*arguments: Any) -> Lags:
    lags = measure_lags(*arguments)
    return replace(lags, launch_from_start=0, launch_from_end=0, stream_order=lags.stream_order * 0)


def _no_verdict(*arguments: Any) -> Verdict:
    verdict = judge(*arguments)
    return replace(verdict, favoured=verdict.favoured & False, open_race=verdict.open_race & False)


def _no_correction(*_: Any) -> GpuClock:
    return GpuClock()


def cases() -> list[Case]:
    """The whole model first, then each rule left out; every mechanism of the model is in one of them."""
    alone = [m.name for m in MECHANISMS if m.name not in _TOGETHER | _NEVER_LEFT_OUT]
    return [
        Case("nothing"),
        *(Case(name, _made_by(name)) for name in alone),
        Case("stream wait event, recorded", _made_by(STREAM_WAIT_EVENT, recorded=True)),
        Case("stream wait event, inferred", _made_by(STREAM_WAIT_EVENT, recorded=False)),
        Case("waits of the CPU for the GPU, recorded", _made_by(*_HOST_WAITS, recorded=True)),
        Case("waits of the CPU for the GPU, inferred", _made_by(*_HOST_WAITS, recorded=False)),
        Case("autograd hand-off and join", _made_by(*_AUTOGRAD)),
        Case("resume and hand-over", _made_by(*_RESUME)),
        Case("GIL", _made_by(*_GIL)),
        Case("launches from inside a call that still runs", _from_inside_a_call),
        Case("usual lags measured in the file", replaced={(basis_rules, "measure_lags"): _no_lags}),
        Case("close races by likelihood", replaced={(dependencies, "judge"): _no_verdict}),
        Case("nothing, the GPU's clock 30 µs early", clock_error_ns=CLOCK_ERROR_NS),
        Case(
            "correction of clocks, the GPU's clock 30 µs early",
            replaced={(basis_rules, "gpu_clock"): _no_correction},
            clock_error_ns=CLOCK_ERROR_NS,
        ),
    ]


@contextmanager
def _replaced(case: Case) -> Iterator[None]:
    with ExitStack() as stack:
        for (module, name), replacement in case.replaced.items():
            stack.enter_context(patch.object(module, name, replacement))
        yield


def solve_without(case: Case, basis: Basis) -> Solution:
    """The causal graph without the edges of the case, and without the waits that only they end."""
    edges, waits = find_edges(basis, EVIDENCE)
    dropped = case.left_out(basis, edges)
    kept = ~_ended_by(select_rows(edges, dropped), waits)
    return solve(basis, select_rows(edges, ~dropped), select_rows(waits, kept))


def _ended_by(edges: Edges, waits: Waits) -> Flags:
    ends = set(zip(edges.effect_lane.tolist(), edges.effect_time.tolist(), strict=True))
    moments = zip(waits.lane.tolist(), waits.end.tolist(), strict=True)
    return np.fromiter((moment in ends for moment in moments), bool, len(waits.lane))


def ablate(oracle: Oracle, sets: Sequence[OracleSet]) -> Iterator[list[Result]]:
    """For each set, its result in every case."""
    scorer = oracle.scorer()
    for one in sets:
        with oracle.made(one):
            events, lanes, integrity = read_columns(one.trace)
            results = []
            for case in cases():
                with _replaced(case):
                    basis = find_basis(events.shift_gpu(case.clock_error_ns), lanes, integrity)
                    found = solve_without(case, basis)
                results.append(compare(one, path_rows(found), scorer))
        yield results


def describe_ablation(results: Sequence[Sequence[Result]]) -> str:
    """Markdown: one line a case, with how many sets fall below `GOOD` and how low."""
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
