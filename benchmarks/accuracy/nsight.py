"""The table of reports of Nsight Systems: what is lost where they have no rows of what Kineto records."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy.goals import goal_of
from benchmarks.accuracy.harder import what_if_figures
from benchmarks.accuracy.markdown import table
from benchmarks.accuracy.nsight_tables import (
    Form,
    Key,
    only_rows,
    positions_of,
    read_entries,
    write_report,
)
from benchmarks.accuracy.paths import Answer, answer_of
from benchmarks.accuracy.sets import JITTER, Oracle, OracleSet, read_json
from benchmarks.accuracy.verdict import Verdict, in_processes, judge_set
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.readers import read_trace
from tracegraph.vocabulary.categories import GPU_WORK, Role, has_role

_GRAPH = "--graph"
SIMULATIONS = (
    *(f"--regime {regime}" for regime in ("mixed", "gpu", "comm", "cpu")),
    "--regime loader --prefetch-thread --prefetch-mult 1.5",
    "--regime cpu --stack",
    "--blocking-copy",
    "--regime gpu --silent-sync",
    "--regime gpu --queue-depth 100",
    "--regime gpu --gpu-noise 300",
    "--idle-threads 2",
    _GRAPH,
)
"""Simulations of both halves, each with constant and with random lags."""
_KINETO = "Kineto"
_AS_GOOD = 0.001
"""By how much, as a share, recall, overlap and a gain may be worse than those of the Kineto file."""
FORMS = {
    "Nsight, emit_nvtx": Form(),
    "Nsight, no operators": Form(operators=False),
    "Nsight, a row a graph": Form(nodes=False),
}
"""Ways to record a report; the last one differs only where there are graphs."""


@dataclass(frozen=True)
class Recorded:
    """A simulation as one way of recording has it.

    `lost`: the share (0..1) of the true path's time in events that have no row.
    """

    form: str
    verdict: Verdict
    lost: float = 0.0


def report_sets(oracle: Oracle, mixes: Sequence[str], seeds: range, events: int) -> list[OracleSet]:
    """List the simulations, or those with the options `mixes`; nothing is made yet."""
    return oracle.matrix(mixes or SIMULATIONS, [(), (JITTER,)], seeds, events)


@dataclass(frozen=True)
class _Judge:
    """The work of a process on one simulation: its Kineto file, and a report of each form."""

    oracle: Oracle

    def __call__(self, one: OracleSet) -> list[Recorded]:
        goal = goal_of(one.scenario, one.variant)
        with self.oracle.made(one):
            found = [Recorded(_KINETO, judge_set(self.oracle, one, goal))]
            for name, form in FORMS.items():
                if form.nodes or _GRAPH in one.scenario:
                    found.append(self._judge(one, name, form))
        return found

    def _judge(self, one: OracleSet, name: str, form: Form) -> Recorded:
        """Judge the report against the truth without the names of events that it has no rows of."""
        masked = one.damaged(f"nsight{list(FORMS).index(name)}")
        report = masked.trace.with_suffix(".sqlite")
        positions = write_report(read_entries(one.trace), form, report)
        known = {place for places in positions.values() for place in places}
        truth = read_json(one.truth)
        masked.truth.write_text(json.dumps(only_rows(truth, known)))
        masked.trace.write_bytes(one.trace.read_bytes())
        find_answer = partial(_answer, report, positions, form)
        verdict = judge_set(self.oracle, masked, goal_of(one.scenario, one.variant), find_answer)
        for file in (report, masked.trace, masked.truth):
            file.unlink()
        return Recorded(name, verdict, _lost(truth, known))


def _answer(report: Path, positions: Mapping[Key, Sequence[int]], form: Form, _: Path) -> Answer:
    """Answer for a report, with the positions that its events have in the simulation."""
    integrity = Integrity(report.name)
    file = read_trace(report, integrity)
    found = answer_of(file, integrity)
    place = np.append(positions_of(file, positions), -1)
    rows = found.what_next
    if not form.operators:  # annotations have the time of the operators in them, too
        rows = [row for row in rows if has_role(row["category"], Role.CALL, *GPU_WORK)]
    if not form.nodes:  # a graph's launch is one row, of which the simulation has no work
        rows = [row for row in rows if not row["name"].startswith("graph ")]
    path = found.path.assign(source_index=place[found.path["source_index"].to_numpy()])
    return Answer(path, rows, found.codes)


def _lost(truth: Mapping[str, Any], known: set[int]) -> float:
    """Return the share (0..1) of the true path's time in events that have no row."""
    lengths = [(at, end - start) for _, at, start, end, *_ in truth["segments"] if at >= 0]
    lost = sum(length for at, length in lengths if at not in known)
    return lost / max(sum(length for _, length in lengths), 1e-9)


def judge_forms(oracle: Oracle, sets: Sequence[OracleSet], processes: int) -> Iterator[list[Recorded]]:
    """Yield how each simulation is judged as a Kineto file and as a report of each form."""
    return in_processes(_Judge(oracle), sets, processes)


def describe_forms(found: Sequence[Sequence[Recorded]]) -> str:
    """Write the Markdown: how often a report is as good as Kineto's file, and a table of all forms."""
    groups: dict[tuple[str, str, str], list[Recorded]] = {}
    for one in (recorded for several in found for recorded in several):
        of = one.verdict.result.of
        lags = " ".join(of.variant) or "constant lags"
        groups.setdefault((of.scenario, lags, one.form), []).append(one)
    columns = ["simulation", "lags", "recorded as", "path without rows", "recall, least", "overlap, least"]
    rows = [[*key, *_figures(group)] for key, group in groups.items()]
    return "\n\n".join(
        [
            f"{len(found)} simulations of {found[0][0].verdict.result.of.events:,} events, in memory:",
            "\n".join(_in_one_line(found, form) for form in FORMS),
            table([*columns, "what-if, worst", "mean"], rows),
        ]
    )


def _in_one_line(found: Sequence[Sequence[Recorded]], form: str) -> str:
    pairs = [(several[0], one) for several in found for one in several if one.form == form]
    if not pairs:
        return f"- {form}: no simulation."
    as_good = sum(
        report.verdict.result.least >= kineto.verdict.result.least - _AS_GOOD
        and abs(report.verdict.worst_error) <= abs(kineto.verdict.worst_error) + _AS_GOOD
        for kineto, report in pairs
    )
    lowest = min(one.verdict.result.least for _, one in pairs)
    return (
        f"- {form}: path and what-if are within {100 * _AS_GOOD:g} % of those of the Kineto file in "
        f"{as_good} of {len(pairs)}; the lowest recall or overlap is {lowest:.4f}."
    )


def _figures(group: Sequence[Recorded]) -> list[str]:
    results = [one.verdict.result for one in group]
    return [
        f"{100 * max(one.lost for one in group):.1f} %",
        f"{min(result.recall for result in results):.4f}",
        f"{min(result.overlap for result in results):.4f}",
        *what_if_figures([one.verdict for one in group]),
    ]
