"""A stored run: its queries as methods, questions of one's own, pictures and the report."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from operator import index
from typing import TYPE_CHECKING, Any

import pandas as pd

from tracegraph.base.errors import InputError, TracegraphError
from tracegraph.ingest.what_if.settings import Settings
from tracegraph.queries.run_part import RunPart
from tracegraph.queries.runs import job_of, ready_run
from tracegraph.queries.shapes.peak.job import Job
from tracegraph.store.tables import GraphTables
from tracegraph.workbench.collect import collect_findings
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.methods.run_report import Report
from tracegraph.workbench.run_queries import RunQueries
from tracegraph.workbench.what_if.defaults import AUTO, FIXES_WANTED

# A report on a stored run neither replays nor compares nor draws: what does is imported where it is used.
# ruff: noqa: PLC0415
if TYPE_CHECKING:
    from tracegraph.ingest.what_if.graph.graph import ReplayGraph
    from tracegraph.ingest.what_if.scenarios.scenario import Scenario
    from tracegraph.workbench.bench import Workbench
    from tracegraph.workbench.diff.compare import Difference
    from tracegraph.workbench.graph.causal_graph import CausalGraph
    from tracegraph.workbench.methods.picture_file import Picture
    from tracegraph.workbench.methods.section_plot import SectionPlot
    from tracegraph.workbench.what_if.answer import WhatIf
    from tracegraph.workbench.what_if.plan import Plan

_TOP = 10
"""How many hotspots a report lists by default."""


class Run(RunQueries):
    """A stored run, known by its name.

    Every query about a run is a method; the window that it needs is filled in.
    """

    def __init__(self, bench: "Workbench", name: str) -> None:
        self.bench, self.name = bench, name

    def ask(self, query: str, /, **values: Any) -> pd.DataFrame:
        """Return the rows of a named query about this run; a value of None counts as not given.

        Raises
        ------
        InputError
            There is no such query, or a value is missing, unknown or not allowed.
        StoreError
            The server failed.
        """
        return self.bench.ask(query, run=self.name, **values)

    def cypher(self, query: str, /, **parameters: object) -> pd.DataFrame:
        """Return the rows of a Cypher query of your own, which may not write; `$run` is the name of this run.

        Raises
        ------
        InputError
            The query is wrong or writes.
        StoreError
            The server failed.
        """
        return self.bench.cypher(query, **{"run": self.name, **parameters})

    def picture(self, what: str = "critical_path", /, *arguments: Any, **options: Any) -> "Picture":
        """Draw a part of the graph, which shows itself in a notebook: see `methods.picture.PICTURES`.

        `picture("critical_path", step=3)`, `picture("hotspot", "aten::mm")`, `picture("event", 12, depth=5)`,
        `picture("step", 3)`, `picture("flame", step=3)` or `picture("cypher", "MATCH … RETURN …")`.

        Raises
        ------
        InputError
            There is no such picture, or nothing to draw.
        """
        from tracegraph.workbench.methods.picture import draw_picture

        with self.bench.answers() as answers:
            return draw_picture(answers, self.name, what, *arguments, **options)

    def stated_job(self) -> Job:
        """Return what was said of the job when the run was ingested."""
        with self.bench.answers() as answers:
            return job_of(answers.of, self.name)

    def plot(
        self,
        section: str,
        /,
        *,
        step: int | None = None,
        phase: str | None = None,
        occurrence: int | None = None,
    ) -> "SectionPlot":
        """Draw the plots of a section of the report, which show themselves in a notebook: `plot("steps")`.

        Parameters
        ----------
        section
            The name of a section with plots, or of a query that such a section asks: `plot("lane_waits")`.

        Raises
        ------
        InputError
            There is no such plot, or the run has no such step or phase.
        StoreError
            The server failed, or the run is damaged.
        """
        from tracegraph.workbench.methods.section_plot import section_plot

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
        """Report on the run, or on a step or phase of it, as `tracegraph report` does.

        Parameters
        ----------
        phase, occurrence
            A phase, and which of several of that name in the step, from 1; by default the last.
        top
            How many hotspots are listed.
        drawn
            Include the lanes, so that the report can be saved as a page.
        timings_s
            Seconds of earlier stages, which the report lists.
        thresholds
            Thresholds of recommendations by rule, 0..1, that replace the defaults.
        job
            How large the job is, with which the verdict also says gains in GPU-hours, samples and tokens;
            its model and its GPUs, with which the section on utilisation says shares of the peak. It counts
            more than what was said of the job at ingest.

        Raises
        ------
        InputError
            The run has no such step or phase, or there is no such rule.
        StoreError
            The server failed, or the run is damaged.
        """
        part = RunPart(_plain(step), phase, _plain(occurrence))
        findings = self._collect(
            part=part,
            top=top,
            drawn=drawn,
            timings_s=timings_s or {},
            thresholds=_checked(thresholds or {}),
            job=job,
        )
        return Report(findings, self.bench.progress)

    def first_look(
        self,
        *,
        step: int | None = None,
        phase: str | None = None,
        occurrence: int | None = None,
        job: Job | None = None,
    ) -> Findings:
        """Return the findings as far as the verdict and the first screen of a report need them.

        The parameters are those of `report`.

        Raises
        ------
        InputError
            The run has no such step or phase.
        StoreError
            The server failed, or the run is damaged.
        """
        part = RunPart(_plain(step), phase, _plain(occurrence))
        return self._collect(part=part, top=_TOP, drawn=False, timings_s={}, job=job, first_only=True)

    def _collect(self, **options: Any) -> Findings:
        with self.bench.answers() as answers:
            return collect_findings(answers, self.bench.workspace, self.name, **options)

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
        **fixes: str | float | Sequence[str],
    ) -> "WhatIf":
        """Predict by how much the run, or a step, gets shorter, as `tracegraph what-if` does.

        Parameters
        ----------
        remove, scale
            Selectors, as `under=train_step,category=kernel`; `scale` has a factor of 0 or more before each.
        remove_wait
            Names of gaps, whose waits then end at once.
        assume
            For a run of several ranks: "no-stragglers" or "infinite-bandwidth".
        overhead
            What recording an event cost: "auto", "none", or ns.
        depth, workers
            As the options of the command: how much is ready ahead, and how many threads prepare it.
        precision
            Pairs of a type and a selector.
        **fixes
            Each fix that the command has an option for, with its selectors, as `capture="phase=forward"`, or
            its number, as `bucket=25`.

        Raises
        ------
        InputError
            Nothing is changed, or nothing matches.
        StoreError
            The run is not kept in the workspace, or is damaged.
        """
        from tracegraph.ingest.what_if.fixes.registry import ASKED
        from tracegraph.workbench.what_if.answer import Question, answer

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

    def plan(self, fixes: int = FIXES_WANTED) -> "Plan":
        """Search for the best fix, the best two, and so on, and what they leave of the run.

        It is what `tracegraph plan` does; `fixes` is how many to make at most.

        Raises
        ------
        InputError
            `fixes` is below 1.
        StoreError
            The run is not kept in the workspace, or is damaged.
        """
        from tracegraph.workbench.what_if.plan import make_plan

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
    ) -> "Difference":
        """Compare this run, A, with another, B, by default with itself, as `tracegraph diff` does.

        Parameters
        ----------
        rank, step
            The rank and step of A, and of B unless `rank_b` and `step_b` say otherwise.

        Raises
        ------
        InputError
            A and B are the same, or there is no such run, rank or step.
        StoreError
            The server failed, or a run is damaged.
        """
        from tracegraph.workbench.diff.compare import compare
        from tracegraph.workbench.diff.scope import Side

        name = self.name if other is None else other.name if isinstance(other, Run) else other
        numbers = (None if one is None else index(one) for one in (rank, rank_b, step, step_b))
        rank, rank_b, step, step_b = numbers  # numbers from a frame are numpy's
        a = Side(self.name, rank, step)
        b = Side(name, rank if rank_b is None else rank_b, step if step_b is None else step_b)
        with self.bench.answers() as answers:
            ready_run(answers.of, name)
            return compare(answers, a, b, self.bench.progress)

    def graph(self, *, step: int | None = None, rank: int | None = None) -> "CausalGraph":
        """Return the causal graph of the run, or of one of its steps, to be edited; no server is asked.

        Parameters
        ----------
        rank
            The rank of the step, by default the one that ends it last.

        Raises
        ------
        InputError
            There is no such step, or a rank is given without a step.
        StoreError
            The run is not kept in the workspace, or is damaged.
        """
        from tracegraph.workbench.graph.causal_graph import CausalGraph
        from tracegraph.workbench.what_if.steps import find_step

        if step is None and rank is not None:
            raise InputError("the rank is that of a step", "give the step, too")
        graph = self._replay_graph
        found = None if step is None else find_step(graph, index(step), None if rank is None else index(rank))
        return CausalGraph(self.name, graph, self._kept, found, self._keep_edited)

    def _keep(self, found: "WhatIf", name: str) -> "Run":
        from tracegraph.ingest.what_if.scenarios.keep import find_scenario

        scenario = find_scenario(self._kept(), found.graph, found.span, found.change, found.prediction)
        return self._store(scenario, name, found.as_json())

    def _keep_edited(self, graph: "CausalGraph", name: str) -> "Run":
        from tracegraph.ingest.causal.graph.invariants import check_model

        scenario = graph.scenario()
        check_model(scenario)
        return self._store(scenario, name, graph.as_json())

    def _store(self, scenario: "Scenario", name: str, change: Mapping[str, object]) -> "Run":
        from tracegraph.ingest.what_if.scenarios.keep import scenario_tables

        with self.bench.workspace.spool() as folder:
            self.bench.store(*scenario_tables(self._kept(), scenario, name, change, folder))
        return Run(self.bench, name)

    def _kept(self) -> GraphTables:
        return self.bench.workspace.load_run(self.name)

    @cached_property
    def _replay_graph(self) -> "ReplayGraph":
        from tracegraph.ingest.what_if.scenarios.kept_graph import read_graph

        return read_graph(self._kept())

    def delete(self) -> None:
        """Delete the run from the database and the workspace."""
        self.bench.delete(self.name)

    def _repr_html_(self) -> str:
        from tracegraph.workbench.notebook.cards import error_card, report_card

        try:
            return report_card(self.report(drawn=False).findings)
        except TracegraphError as error:  # a notebook shows its values even if the workbench is closed
            return error_card(self.name, error)

    def __repr__(self) -> str:
        return f"<Run {self.name}>"


def _checked(thresholds: Mapping[str, float]) -> Mapping[str, float]:
    if not thresholds:
        return thresholds
    from tracegraph.workbench.findings.thresholds import checked

    return checked(thresholds)


def _texts(given: str | float | Sequence[str]) -> tuple[str, ...]:
    """Return one text or number, or several texts, as a tuple of texts."""
    if isinstance(given, str):
        return (given,)
    return tuple(given) if isinstance(given, Sequence) else (f"{given:g}",)


def _plain(number: int | None) -> int | None:
    """Give a number of a frame, which is numpy's, as one of Python."""
    return None if number is None else index(number)
