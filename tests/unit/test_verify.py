"""Predicted, then measured: when a prediction holds, and what else is named."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import tiny

from tracegraph.base.errors import InputError
from tracegraph.ingest.causal.events.event_arrays import read_events
from tracegraph.ingest.causal.graph.model import build_model
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.tables.graph import RunFacts, add_run, build_graph
from tracegraph.ingest.what_if.scenarios.keep import find_scenario, scenario_tables
from tracegraph.ingest.what_if.scenarios.kept_graph import read_graph
from tracegraph.store.tables import GraphTables
from tracegraph.workbench.verify import base_of, verify
from tracegraph.workbench.what_if.answer import Question, answer


def run(name: str, *loads: float, other: float = 50, steps: bool = True) -> GraphTables:
    """A run with one step for each load, which is followed by other work; µs."""
    rows, at = [], 0.0
    for number, load in enumerate(loads):
        end = at + load + other
        rows += [tiny.step(number, at, end)] if steps else []
        rows += [tiny.event("load", at, at + load), tiny.event("op", at + load, end)]
        at = end
    trace = tiny.trace(*rows)
    model = build_model(*read_events(trace), Integrity("tiny.json"))
    tables = build_graph(trace, model, name)
    add_run(tables, model, RunFacts("2026", "0", []))
    return tables


def keep(base: GraphTables, folder: Path, step: int | None = None) -> GraphTables:
    """The scenario in which nothing is loaded."""
    found = answer(read_graph(base), base.run, Question(remove=("name=load",), step=step))
    scenario = find_scenario(base, found.graph, found.span, found.change, found.prediction)
    return scenario_tables(base, scenario, "scenario", found.as_json(), folder)[0].completed()


BASE = (100, 110, 90, 104)


def test_a_gain_that_was_measured_holds(tmp_path: Path) -> None:
    base = run("base", *BASE)
    found = verify(keep(base, tmp_path), base, run("later", 0.1, 1, 2, 0.2))
    assert found.predicted.gain_ns == 101_000
    # More than all that is taken away cannot be gained.
    assert found.predicted.low_ns < 101_000 == found.predicted.high_ns
    assert found.measured.gain_ns == 100_175
    assert found.measured.steps_base == found.measured.steps_later == 4
    assert found.holds
    # scipy.stats.ttest_ind(..., equal_var=False).confidence_interval()
    assert (found.measured.low_ns, found.measured.high_ns) == (86_887, 113_463)


@pytest.mark.parametrize("later", [BASE, (60, 61, 62, 63)])
def test_a_gain_that_was_not_measured_does_not_hold(later: tuple[float, ...], tmp_path: Path) -> None:
    base = run("base", *BASE)
    found = verify(keep(base, tmp_path), base, run("later", *later))
    assert not found.holds
    assert found.as_json()["holds"] is False
    assert [(one.name, one.predicted_ns) for one in found.changed] == [("load", 0)]
    assert found.changed[0].later_ns == round(np.mean(later) * 1000)


def test_what_else_changed_is_named_and_what_was_removed_is_not(tmp_path: Path) -> None:
    base = run("base", *BASE)
    found = verify(keep(base, tmp_path), base, run("later", 0, 0, 0, other=30))
    assert [(one.name, one.base_ns, one.predicted_ns, one.later_ns) for one in found.changed] == [
        ("op", 50_000, 50_000, 30_000)
    ]


def test_the_gain_of_one_step_is_that_of_the_step(tmp_path: Path) -> None:
    base = run("base", *BASE)
    found = verify(keep(base, tmp_path, step=1), base, run("later", 0, 0, 0))
    assert found.predicted.gain_ns == 110_000


def test_a_step_of_several_ranks_is_that_of_the_one_that_ends_it_last(tmp_path: Path) -> None:
    base = run("base", *BASE)
    scenario, later = keep(base, tmp_path), run("later", 60, 61, 62, 63)
    alone = verify(scenario, base, later)
    rows = later.nodes["Step"].to_pylist()
    sooner = [{**row, "rank": 1, "end_ns": row["start_ns"] + 1, "window_end_ns": 1} for row in rows]
    later.nodes["Step"] = pa.Table.from_pylist([*rows, *sooner], schema=later.nodes["Step"].schema)
    assert verify(scenario, base, later).measured == alone.measured


def test_without_steps_the_windows_are_compared(tmp_path: Path) -> None:
    base = run("base", *BASE, steps=False)
    found = verify(keep(base, tmp_path), base, run("later", 0, 0, 0, 0, steps=False))
    assert (found.measured.gain_ns, found.measured.low_ns, found.measured.steps_base) == (404_000, None, 0)
    assert found.predicted.gain_ns == 404_000
    assert found.holds
    assert json.loads(json.dumps(found.as_json()))["measured"]["high_ns"] is None


def test_what_cannot_be_told_is_refused(tmp_path: Path) -> None:
    base = run("base", *BASE)
    scenario = keep(base, tmp_path)
    with pytest.raises(InputError, match="'later' has 1 step"):
        verify(scenario, base, run("later", 1))
    with pytest.raises(InputError, match="'later' has 0 steps"):
        verify(scenario, base, run("later", 1, 2, steps=False))
    with pytest.raises(InputError, match="'scenario' is a scenario"):
        verify(scenario, base, scenario)
    assert base_of(scenario) == "base"
    with pytest.raises(InputError, match="'base' is no scenario"):
        base_of(base)


def test_a_step_in_which_nothing_runs_cannot_be_predicted() -> None:
    trace = tiny.trace(tiny.step(0, 0, 0), tiny.event("load", 0, 10))
    model = build_model(*read_events(trace), Integrity("tiny.json"))
    tables = build_graph(trace, model, "empty")
    add_run(tables, model, RunFacts("2026", "0", []))
    with pytest.raises(InputError, match="step 0 of the run takes no time"):
        answer(read_graph(tables), "empty", Question(remove=("name=load",), step=0))
