"""What each rule adds: the scores when one of them is left out of the causal model."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.accuracy.compare import GOOD, Result, compare
from benchmarks.accuracy.markdown import table
from benchmarks.accuracy.paths import read_columns
from benchmarks.accuracy.sets import Oracle, OracleSet
from tracegraph.ingest import model
from tracegraph.ingest.dependencies.edges import MECHANISMS, Edges, Waits
from tracegraph.ingest.dependencies.invocation import invocation
from tracegraph.ingest.events import Flags
from tracegraph.ingest.launches import Lags, measure_lags
from tracegraph.ingest.model import build_model
from tracegraph.ingest.path_rows import path_rows
from tracegraph.ingest.rows import select_rows

CLOCK_ERROR_NS = -30_000
"""By how much the GPU's rows are moved where the correction of clocks is judged."""
_TAKING_EDGES = ("build_segments", "bind")
_HOST_WAITS = ("stream synchronize", "device synchronize", "event synchronize")
Chosen = Callable[[Edges], Flags]


@dataclass(frozen=True)
class Case:
    """The model without one rule: the edges left out, other parts replaced, the error of the GPU's clock."""

    name: str
    left_out: Chosen
    replaced: Mapping[str, Callable[..., Any]]
    clock_error_ns: int = 0


def _nothing(edges: Edges) -> Flags:
    return np.zeros(len(edges), dtype=bool)


def _made_by(*names: str, recorded: bool | None = None) -> Chosen:
    codes = [code for code, mechanism in enumerate(MECHANISMS) if mechanism.name in names]

    def chosen(edges: Edges) -> Flags:
        found = np.isin(edges.mechanism, codes)
        return found if recorded is None else found & (edges.recorded == recorded)

    return chosen


def _no_lags(*arguments: Any) -> Lags:
    lags = measure_lags(*arguments)
    return replace(lags, launch_from_start=0, launch_from_end=0, stream_order=lags.stream_order * 0)


def _no_early_launches(events: Any, launches: Any, *more: Any) -> Edges:
    edges = invocation(events, launches, *more)
    call = launches.call[edges.effect_event]
    return select_rows(edges, edges.effect_time >= events.end[call])


def cases() -> list[Case]:
    """The whole model first, then each rule left out; every mechanism of the model is in one of them."""
    split = {
        "stream waits, recorded": _made_by("stream wait event", recorded=True),
        "stream waits, inferred": _made_by("stream wait event", recorded=False),
        "waits of the CPU for the GPU, recorded": _made_by(*_HOST_WAITS, recorded=True),
        "waits of the CPU for the GPU, inferred": _made_by(*_HOST_WAITS, recorded=False),
        "autograd hand-off and join": _made_by("autograd hand-off", "autograd join"),
        "resume and hand-over": _made_by("resume", "hand-over"),
    }
    named = {"stream wait event", *_HOST_WAITS, "autograd hand-off", "autograd join", "resume", "hand-over"}
    inner = {"program order", "queue start"}
    single = {m.name: _made_by(m.name) for m in MECHANISMS if m.name not in named | inner}
    return [
        Case("the whole model", _nothing, {}),
        *(Case(name, left_out, {}) for name, left_out in {**single, **split}.items()),
        Case("launches from inside a call that still runs", _nothing, {"invocation": _no_early_launches}),
        Case("usual lags measured in the file", _nothing, {"measure_lags": _no_lags}),
        Case("the whole model, GPU's clock 30 µs early", _nothing, {}, CLOCK_ERROR_NS),
        Case("correction of clocks, same files", _nothing, {"gpu_clock_offset": _zero}, CLOCK_ERROR_NS),
    ]


def _zero(*_: Any) -> int:
    return 0


@contextmanager
def without(case: Case) -> Iterator[None]:
    """Build models without the case's rule while this is open."""
    with ExitStack() as stack:
        for name, replacement in case.replaced.items():
            stack.enter_context(patch.object(model, name, replacement))
        for name in _TAKING_EDGES:
            stack.enter_context(patch.object(model, name, _filtered(getattr(model, name), case.left_out)))
        yield


def _filtered(build: Callable[..., Any], left_out: Chosen) -> Callable[..., Any]:
    """`build` called without the edges left out, and without the waits that only they end."""

    def call(*arguments: Any) -> Any:
        edges = next(a for a in arguments if isinstance(a, Edges))
        dropped = left_out(edges)
        kept: dict[type, Flags] = {Edges: ~dropped}
        for waits in (a for a in arguments if isinstance(a, Waits)):
            kept[Waits] = ~_ended_by(select_rows(edges, dropped), waits)
        return build(*(select_rows(a, kept[type(a)]) if type(a) in kept else a for a in arguments))

    return call


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
                with without(case):
                    found = build_model(events.shift_gpu(case.clock_error_ns), lanes, integrity)
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
        name = f"nothing: {case.name}" if case.name.startswith("the whole") else case.name
        rows.append([name, f"{below} of {len(scored)}", *figures])
    return table(columns, rows)
