"""A stored run: its queries as methods, questions of one's own, pictures and the report."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from operator import index
from typing import TYPE_CHECKING, Any

import pandas as pd

from tracegraph.base.errors import InputError
from tracegraph.ingest.causal.graph.invariants import check_model
from tracegraph.ingest.what_if.fixes.fix import Settings
from tracegraph.ingest.what_if.fixes.registry import ASKED
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.ingest.what_if.scenarios.keep import find_scenario, scenario_tables
from tracegraph.ingest.what_if.scenarios.kept_graph import read_graph
from tracegraph.ingest.what_if.scenarios.scenario import Scenario
from tracegraph.queries.run_part import RunPart
from tracegraph.queries.runs import ready_run
from tracegraph.store.tables import GraphTables
from tracegraph.workbench.collect import collect_findings
from tracegraph.workbench.diff.compare import Difference, compare
from tracegraph.workbench.diff.scope import Side
from tracegraph.workbench.findings.findings import Job
from tracegraph.workbench.findings.thresholds import checked
from tracegraph.workbench.graph.causal_graph import CausalGraph
from tracegraph.workbench.methods.picture import draw_picture
from tracegraph.workbench.methods.picture_file import Picture
from tracegraph.workbench.methods.run_report import Report
from tracegraph.workbench.methods.section_plot import SectionPlot, section_plot
from tracegraph.workbench.run_queries import RunQueries
from tracegraph.workbench.what_if.answer import AUTO, Question, WhatIf, answer
from tracegraph.workbench.what_if.plan import FIXES_WANTED, Plan, make_plan
from tracegraph.workbench.what_if.steps import find_step

if TYPE_CHECKING:
    from tracegraph.workbench.bench import Workbench

_TOP = 10


class Run(RunQueries):
    """A run by its name; every query about a run is a method, whose window is filled in."""

    def __init__(self, bench: "Workbench", name: str) -> None:
        self.bench, self.name = bench, name

    def ask(self, query: str, /, **values: Any) -> pd.DataFrame:
        """Rows of a query by its name, about this run; what is None is not given.

        Raises
        ------
        InputError
            There is no such query, or a value is missing, unknown or not allowed.
        StoreError
            The server failed.
        """
        return self.bench.ask(query, run=self.name, **values)

    def cypher(self, query: str, /, **parameters: object) -> pd.DataFrame:
        """Rows of a Cypher query of your own, which may not write; `$run` is the name of this run.

        Raises
        ------
        InputError
            The query is wrong or writes.
        StoreError
            The server failed.
        """
        return self.bench.cypher(query, **{"run": self.name, **parameters})

    def picture(self, what: str = "critical_path", /, *arguments: Any, **options: Any) -> Picture:
        """Return a part of the graph, which shows itself in a notebook: see `methods.picture.PICTURES`.

        `picture("critical_path", step=3)`, `picture("hotspot", "aten::mm")`, `picture("event", 12, depth=5)`,
        `picture("step", 3)`, `picture("flame", step=3)` or `picture("cypher", "MATCH … RETURN …")`.

        Raises
        ------
        InputError
            There is no such picture, or nothing to draw.
        """
        with self.bench.answers() as answers:
            return draw_picture(answers, self.name, what, *arguments, **options)

    def plot(
        self,
        section: str,
        /,
        *,
        step: int | None = None,
        phase: str | None = None,
        occurrence: int | None = None,
    ) -> SectionPlot:
        """Give the plots of a section of the report, which show themselves in a notebook, as `plot("steps")`.

        `section` is also the name of a query that a section with a plot asks: `plot("lane_waits")`.

        Raises
        ------
        InputError
            There is no such plot, or the run has no such step or phase.
        StoreError
            The server failed, or the run is damaged.
        """
        found = self.report(step=step, phase=phase, occurrence=occurrence)
        return section_plot(found.findings, section)

    def report(
        self,
        *,
        step: int | None = None,
        phase: str | None = None,
        occurrence: int | None = None,
        top: int = _TOP,
        drawn: bool = True,
        timings_s: Mapping[str, float] | None = None,
        thresholds: Mapping[str, float] | None = None,
        job: Job | None = None,
    ) -> Report:
        """Return what `tracegraph report` says about the run, or about a step or phase of it.

        Of several phases of that name in the step the last, unless `occurrence` says which, from 1.
        `top` hotspots are listed. `drawn`: with the lanes, so that it can be saved as a page. `timings_s` are
        seconds of earlier stages. `thresholds` are those of recommendations, by rule. With a `job` the
        verdict says gains in GPU-hours, samples and tokens, too.

        Raises
        ------
        InputError
            The run has no such step or phase, or there is no such rule.
        StoreError
            The server failed, or the run is damaged.
        """
        bench = self.bench
        part = RunPart(_plain(step), phase, _plain(occurrence))
        with bench.answers() as answers:
            findings = collect_findings(
                answers,
                bench.workspace,
                self.name,
                part=part,
                top=top,
                drawn=drawn,
                timings_s=timings_s or {},
                thresholds=checked(thresholds or {}),
                job=job,
            )
        return Report(findings, bench.progress)

    def what_if(
        self,
        remove: str | Sequence[str] = (),
        *,
        scale: Sequence[tuple[float, str]] = (),
        remove_wait: str | Sequence[str] = (),
        assume: str | Sequence[str] = (),
        step: int | None = None,
        overhead: str | float = AUTO,
        depth: int = Settings.depth,
        workers: int = Settings.workers,
        precision: Sequence[tuple[str, str]] = (),
        **fixes: str | Sequence[str],
    ) -> WhatIf:
        """Give what `tracegraph what-if` says: by how much the run, or a step, is shorter without something.

        `remove` and `scale` take selectors, as `under=train_step,category=kernel`; `remove_wait` names of
        gaps, `assume` of several ranks "no-stragglers" or "infinite-bandwidth". `fixes`: each fix that the
        command has an option for, with its selectors, as `capture="phase=forward"`; `depth` and `workers` as
        there, `precision` pairs of a type and a selector. `overhead`: what recording an event cost: "auto",
        "none", or ns.

        Raises
        ------
        InputError
            Nothing is changed, or nothing matches.
        StoreError
            The run is not kept in the workspace, or is damaged.
        """
        removed, waits, assumed = (_texts(one) for one in (remove, remove_wait, assume))
        number = None if step is None else index(step)
        asked = list(precision)
        asked += [(name.replace("_", "-"), one) for name, given in fixes.items() for one in _texts(given)]
        unknown = [name for name, _ in asked if name not in ASKED]
        if unknown:
            raise InputError(f"there is no fix {unknown[0]!r}", f"there are: {', '.join(ASKED)}")
        question = Question(
            removed, tuple(scale), waits, assumed, number, overhead, tuple(asked), depth, workers
        )
        return replace(answer(self._replay_graph, self.name, question), store=self._keep)

    def plan(self, fixes: int = FIXES_WANTED) -> Plan:
        """Say what `tracegraph plan` says: the best fix, the best two, and so on, and what they leave.

        Raises
        ------
        InputError
            No fix is wanted.
        StoreError
            The run is not kept in the workspace, or is damaged.
        """
        return make_plan(self._replay_graph, self.name, index(fixes))

    def diff(
        self,
        other: "Run | str | None" = None,
        /,
        *,
        rank: int | None = None,
        rank_b: int | None = None,
        step: int | None = None,
        step_b: int | None = None,
    ) -> Difference:
        """Say what `tracegraph diff` says: what differs from this run, A, to another, B, by default the same.

        `rank` and `step` are those of A, and of B unless `rank_b` and `step_b` say otherwise.

        Raises
        ------
        InputError
            A and B are the same, or there is no such run, rank or step.
        StoreError
            The server failed, or a run is damaged.
        """
        name = self.name if other is None else other.name if isinstance(other, Run) else other
        numbers = (None if one is None else index(one) for one in (rank, rank_b, step, step_b))
        rank, rank_b, step, step_b = numbers  # a frame's are numpy's
        a = Side(self.name, rank, step)
        b = Side(name, rank if rank_b is None else rank_b, step if step_b is None else step_b)
        with self.bench.answers() as answers:
            ready_run(answers.of, name)
            return compare(answers, a, b, self.bench.progress)

    def graph(self, *, step: int | None = None, rank: int | None = None) -> CausalGraph:
        """Return the causal graph of the run, or of one of its steps, to be edited; no server is asked.

        `rank`: that of the step, by default the one that ends it last.

        Raises
        ------
        InputError
            There is no such step, or a rank without a step.
        StoreError
            The run is not kept in the workspace, or is damaged.
        """
        if step is None and rank is not None:
            raise InputError("the rank is that of a step", "give the step, too")
        graph = self._replay_graph
        found = None if step is None else find_step(graph, index(step), None if rank is None else index(rank))
        return CausalGraph(self.name, graph, self._kept, found, self._keep_edited)

    def _keep(self, found: WhatIf, name: str) -> "Run":
        scenario = find_scenario(self._kept(), found.graph, found.span, found.change, found.prediction)
        return self._store(scenario, name, found.as_json())

    def _keep_edited(self, graph: CausalGraph, name: str) -> "Run":
        scenario = graph.scenario()
        check_model(scenario)
        return self._store(scenario, name, graph.as_json())

    def _store(self, scenario: Scenario, name: str, change: Mapping[str, object]) -> "Run":
        with self.bench.workspace.spool() as folder:
            self.bench.store(*scenario_tables(self._kept(), scenario, name, change, folder))
        return Run(self.bench, name)

    def _kept(self) -> GraphTables:
        return self.bench.workspace.load_run(self.name)

    @cached_property
    def _replay_graph(self) -> ReplayGraph:
        return read_graph(self._kept())

    def delete(self) -> None:
        """Delete the run from the database and the workspace."""
        self.bench.delete(self.name)

    def __repr__(self) -> str:
        return f"<Run {self.name}>"


def _texts(given: str | Sequence[str]) -> tuple[str, ...]:
    """One text, or several."""
    return (given,) if isinstance(given, str) else tuple(given)


def _plain(number: int | None) -> int | None:
    """Give a number of a frame, which is numpy's, as one of Python."""
    return None if number is None else index(number)
