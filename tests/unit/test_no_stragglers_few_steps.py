"""Without three steps nobody can tell a late rank from steps that scatter: the gain may be none."""

from pathlib import Path

import numpy as np
import pytest
from rank_parts import read_part
from tiny import Row, call, event, kernel
from tiny_job import ALL_REDUCE, write_trace

from tracegraph.ingest.causal.graph.model import Solution
from tracegraph.ingest.ranks.job import build_job
from tracegraph.ingest.what_if.changes.between_ranks import MAY_BE_CHANCE
from tracegraph.ingest.what_if.fixes.fix_rows import find_fixes
from tracegraph.ingest.what_if.graph.graph import graph_of
from tracegraph.ingest.what_if.predictions.predict import predictor_of
from tracegraph.workbench.what_if.answer import Question, answer
from tracegraph.workbench.what_if.assumptions import NO_STRAGGLERS

PIECES = 20


def job(folder: Path, paces: list[list[float]]) -> Solution:
    """Ranks that do 20 pieces of work in each step, as slow as the pace of rank and step, and meet."""
    rows: list[list[Row]] = [[] for _ in paces]
    scatter = np.random.default_rng(7).normal(1, 0.01, (len(paces), len(paces[0]), PIECES))
    begin = 0.0
    for number in range(len(paces[0])):
        works = [1000 * paces[rank][number] * scatter[rank, number] for rank in range(len(paces))]
        leaves = begin + max(float(work.sum()) for work in works) + 15
        group = {"group": "0", "group_ranks": str([*range(len(paces))]), "group_sequence": number}
        for rank, work in enumerate(works):
            ends = begin + np.cumsum(work)
            ready = float(ends[-1])
            rows[rank] += [
                event(f"ProfilerStep#{number}", begin, leaves, category="user_annotation"),
                *(event("work", end - took, end) for end, took in zip(ends, work, strict=True)),
                call("cudaLaunchKernel", ready, ready + 2, number + 1),
                kernel(ALL_REDUCE, ready + 5, leaves, number + 1, **group),
                call("cudaStreamSynchronize", ready + 2, leaves, 100 + number),
            ]
        begin = leaves + 5
    files = [write_trace(folder / f"rank{rank}.json", own, rank, len(paces)) for rank, own in enumerate(rows)]
    return build_job([read_part(file) for file in files]).model


def balance(model: Solution) -> list[dict[str, object]]:
    return [row for row in find_fixes(predictor_of(model)) if row["fix"] == "balance"]


@pytest.mark.parametrize("steps", [1, 2])
def test_of_few_steps_the_range_begins_with_nothing(tmp_path: Path, steps: int) -> None:
    alike = job(tmp_path, [[1.0] * steps, [1.05] * steps])  # as steps scatter
    said = answer(graph_of(alike), "run", Question(assume=(NO_STRAGGLERS,)))
    assert said.prediction.corrected.gain_ns > 0.03 * said.prediction.corrected.base_ns
    assert said.prediction.low.gain_ns == 0
    assert MAY_BE_CHANCE in said.notes
    (row,) = balance(alike)
    assert row["low_ns"] == 0
    assert MAY_BE_CHANCE in str(row["assumptions"])


def test_what_else_is_asked_stays_sure(tmp_path: Path) -> None:
    alike = job(tmp_path, [[1.0], [1.05]])
    asked = Question(assume=(NO_STRAGGLERS,), scale=((0.5, "under=work"),))
    said = answer(graph_of(alike), "run", asked).prediction
    alone = answer(graph_of(alike), "run", Question(scale=asked.scale)).prediction
    assert 0 < said.low.gain_ns <= alone.corrected.gain_ns < said.corrected.gain_ns


def test_of_six_steps_chance_is_told_from_a_late_rank(tmp_path: Path) -> None:
    paces = np.random.default_rng(3).normal(1, 0.05, (2, 6)).tolist()
    assert balance(job(tmp_path, paces)) == []
    late = job(tmp_path, [paces[0], [1.5 * pace for pace in paces[1]]])
    said = answer(graph_of(late), "run", Question(assume=(NO_STRAGGLERS,)))
    assert said.prediction.low.gain_ns > 0.2 * said.prediction.corrected.base_ns
    assert MAY_BE_CHANCE not in said.notes
