"""Gains of fixes, alone and in pairs, against simulations in which they were made."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.accuracy.markdown import table
from benchmarks.accuracy.paths import read_model
from benchmarks.accuracy.sets import JITTER, Oracle, OracleSet, read_json
from benchmarks.accuracy.verdict import in_processes
from tracegraph.base.errors import InputError
from tracegraph.ingest.what_if.graph.graph import ReplayGraph, graph_of
from tracegraph.vocabulary.categories import Role
from tracegraph.vocabulary.mechanisms import CODE, GRAPH_LAUNCH, LAUNCH
from tracegraph.workbench.what_if.answer import Question, answer

OF_MAKESPAN, OF_MAKESPAN_WITH_JITTER, OF_GAIN = 0.01, 0.02, 0.1
"""The largest errors: of the makespan, with constant and with random lags, and of a large gain."""
_LARGE, _NOTHING = 0.02, 0.001
"""A gain of at least the first share of the makespan must also be near by its own size.

If nothing is gained, at most the second share may be claimed.
"""
UNSYNC, CAPTURE, PREFETCH, SCALE = "unsync", "capture", "prefetch", "scale"
_FACTOR = 0.5
"""How long a scaled kernel takes, as a share of before."""
PAIRS = (
    (UNSYNC, CAPTURE),
    (UNSYNC, PREFETCH),
    (CAPTURE, PREFETCH),
    (UNSYNC, SCALE),
    (CAPTURE, SCALE),
    (PREFETCH, SCALE),
)
_SELECTORS = {
    UNSYNC: (
        *(
            f"name={maker}{call}"
            for maker in ("cuda", "hip")
            for call in ("StreamSynchronize", "MemcpyAsync")
        ),
        "name=hipMemcpyWithStream",
        "wait=silent synchronize",
    ),
    CAPTURE: ("phase=forward", "phase=backward"),
    PREFETCH: ("phase=data loading",),
}
"""What the simulator's levers change, as selectors: the calls in which it waits, the captured phases."""
_FORWARD = (
    *("aten::layer_norm", "aten::linear", "aten::scaled_dot_product_attention", "aten::add", "aten::gelu"),
    *("aten::cross_entropy_loss", "aten::nll_loss_nd", "autograd::engine::evaluate_function*"),
)
_WITHOUT_PHASES = tuple(f"under={name}" for name in _FORWARD)
"""What is captured if a file does not show its phases, as somebody who knows the program would say it."""
_MISLEADING = "DistributedDataParallel.forward"
"""An annotation that the simulator calls a forward, although it holds none of it."""


@dataclass(frozen=True)
class Said:
    """The gain of one or two fixes in ns, as predicted and as it truly is."""

    of: OracleSet
    fixes: str
    said_ns: int
    true_ns: int
    total_ns: int

    @property
    def error(self) -> float:
        """Predicted minus true gain, as a share of the makespan."""
        return (self.said_ns - self.true_ns) / max(self.total_ns, 1)

    @property
    def met(self) -> bool:
        """Whether it is as near as it should be, and nothing is claimed if nothing is gained."""
        most = OF_MAKESPAN_WITH_JITTER if JITTER in self.of.variant else OF_MAKESPAN
        if self.true_ns <= 0:
            return self.said_ns <= _NOTHING * self.total_ns
        near = abs(self.error) <= most
        large = self.true_ns >= _LARGE * self.total_ns
        return near and (not large or abs(self.said_ns - self.true_ns) <= OF_GAIN * self.true_ns)


@dataclass(frozen=True)
class _Judge:
    oracle: Oracle

    def __call__(self, one: OracleSet) -> list[Said]:
        with self.oracle.made(one):
            graph = graph_of(read_model(one.trace)[0])
            kernel = _longest_kernel(graph)
            asked = [(fix,) for fix in (UNSYNC, CAPTURE, PREFETCH, SCALE)] + list(PAIRS)
            levers = {"+".join(_lever(fix, kernel) for fix in fixes): fixes for fixes in asked}
            total, true = _true_gains(self.oracle, one, list(levers))
            return [
                Said(one, " + ".join(fixes), _said(graph, one.name, fixes, kernel), true[lever], total)
                for lever, fixes in levers.items()
            ]


def _longest_kernel(graph: ReplayGraph) -> str:
    """Return the name of the kernels that take longest together.

    Collectives are left out, and so are kernels of graph launches: the simulator does not scale these.
    """
    calls, found = graph.calls, graph.dependencies
    is_collective = np.array(["nccl" in str(one) for one in calls.name.values])
    single = np.zeros(len(calls), dtype=bool)
    single[graph.segments.event[found.effect[found.mechanism == CODE[LAUNCH]]]] = True
    kernels = calls.of_role(Role.KERNEL)
    in_graphs = np.zeros(len(calls.name.values), dtype=bool)
    if (found.mechanism == CODE[GRAPH_LAUNCH]).any():
        in_graphs[calls.name.codes[kernels & ~single]] = True
    mine = kernels & ~(is_collective | in_graphs)[calls.name.codes]
    spent = np.bincount(calls.name.codes[mine], (calls.end - calls.start)[mine], len(calls.name.values))
    return str(calls.name.values[spent.argmax()])


def _lever(fix: str, kernel: str) -> str:
    return f"{SCALE}:{kernel}:{_FACTOR}" if fix == SCALE else fix


def _said(graph: ReplayGraph, run: str, fixes: Sequence[str], kernel: str) -> int:
    """Predict the gain, without a correction: simulations are not slowed down by a profiler."""
    asked = tuple((fix, text) for fix in fixes if fix != SCALE for text in _there(graph, fix))
    scale = ((_FACTOR, "name=" + kernel.replace(",", "\\,")),) if SCALE in fixes else ()
    if not asked and not scale:
        return 0
    question = Question(scale=scale, fixes=asked, overhead="none")
    return answer(graph, run, question).prediction.corrected.gain_ns


def _there(graph: ReplayGraph, fix: str) -> Sequence[str]:
    """Return the selectors of a fix that match something in a run.

    If an annotation that the simulator calls a forward holds none of it, the phase is not the forward.
    """
    by_name = fix == CAPTURE and _MISLEADING in {str(name) for name in graph.calls.name.values}
    for selectors in (_SELECTORS[fix], _WITHOUT_PHASES if fix == CAPTURE else ()):
        found = [text for text in selectors if _means(graph, fix, text)]
        if found and not (by_name and selectors is _SELECTORS[fix]):
            return found
    return ()


def _means(graph: ReplayGraph, fix: str, text: str) -> bool:
    try:
        answer(graph, "run", Question(fixes=((fix, text),), overhead="none"))
    except InputError:
        return False
    return True


def judge_fixes(oracle: Oracle, sets: Sequence[OracleSet], processes: int) -> Iterator[list[Said]]:
    """Yield the gains of every fix and pair of every set."""
    return in_processes(_Judge(oracle), sets, processes)


def _true_gains(oracle: Oracle, one: OracleSet, levers: Sequence[str]) -> tuple[int, dict[str, int]]:
    stem = Path(f"{one.stem}_fixes")
    oracle.run("synth_kineto.py", stem, *one.options, *(f"--lever={lever}" for lever in levers))
    truth = read_json(stem.with_name(f"{stem.name}_truth.json"))
    for left in stem.parent.glob(f"{stem.name}_*.json"):
        left.unlink()
    total = round(truth["total_us"] * 1000)
    return total, {lever: total - round(truth["whatif"][f"lever:{lever}"] * 1000) for lever in levers}


def describe_fixes(found: Sequence[Said]) -> str:
    """Write the Markdown: how many meet the goal, tables by fix and simulation, and all that miss it."""
    met = sum(one.met for one in found)
    intro = (
        f"{met} of {len(found)} gains are within 1 % of the makespan (2 % with random lags) and within 10 % "
        f"of the true gain where that is 2 % or more; where nothing is gained, nothing is claimed."
    )
    by_fix = _groups(found, lambda one: (one.fixes,))
    by_set = _groups(found, lambda one: (one.of.scenario, " ".join(one.of.variant) or "constant lags"))
    columns = ["met", "worst", "mean", "worst set"]
    parts = [
        intro,
        table(["fix", *columns], [[*key, *_figures(group)] for key, group in by_fix.items()]),
        table(
            ["simulation", "lags", *columns[:3], "worst fix"],
            [
                [*key, *_figures(group)[:3], max(group, key=lambda one: abs(one.error)).fixes]
                for key, group in by_set.items()
            ],
        ),
    ]
    missed = [one for one in found if not one.met]
    if missed:
        rows = [
            [
                one.of.name,
                one.fixes,
                f"{one.said_ns / 1e3:.0f} µs",
                f"{one.true_ns / 1e3:.0f} µs",
                f"{100 * one.error:+.2f} %",
            ]
            for one in missed
        ]
        parts += ["Every one that misses:", table(["set", "fix", "said", "true", "of the makespan"], rows)]
    return "\n\n".join(parts)


def _groups(
    found: Sequence[Said], key: Callable[[Said], tuple[str, ...]]
) -> dict[tuple[str, ...], list[Said]]:
    groups: dict[tuple[str, ...], list[Said]] = {}
    for one in found:
        groups.setdefault(key(one), []).append(one)
    return groups


def _figures(group: Sequence[Said]) -> list[str]:
    worst = max(group, key=lambda one: abs(one.error))
    mean = sum(abs(one.error) for one in group) / len(group)
    met = f"{sum(one.met for one in group)} of {len(group)}"
    return [met, f"{100 * worst.error:+.2f} %", f"{100 * mean:.2f} %", worst.of.name]
