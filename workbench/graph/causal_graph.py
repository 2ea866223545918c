"""The causal graph of a run: change work, lags and dependencies, and ask for the critical path again."""

import copy
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.graph.longest_path import Outcome
from tracegraph.ingest.causal.graph.path_rows import path_table
from tracegraph.ingest.what_if.changes.change import Span, whole_window
from tracegraph.ingest.what_if.graph.graph import ReplayGraph, StepWindow
from tracegraph.ingest.what_if.predictions.gains import Gain, possible_range
from tracegraph.ingest.what_if.predictions.replays import NAIVE
from tracegraph.ingest.what_if.scenarios.edits import Edited, of_step, unedited, with_added
from tracegraph.ingest.what_if.scenarios.scenario import Scenario, build_scenario
from tracegraph.queries.module import in_types
from tracegraph.queries.shapes.path.rows import PATH_COLUMNS
from tracegraph.store.kept_answers import nullable
from tracegraph.store.tables import GraphTables
from tracegraph.workbench.graph.checks import (
    as_ids,
    check_edges,
    check_factor,
    check_lags,
    check_removed,
    check_work,
    new_dependencies,
)
from tracegraph.workbench.graph.frames import edge_frame, edges_between, node_frame, replay_frame
from tracegraph.workbench.graph.networkx_exchange import take_edges, take_work, to_networkx, to_rustworkx
from tracegraph.workbench.text.text import format_ns
from tracegraph.workbench.what_if.answer import gain_json, range_json
from tracegraph.workbench.what_if.selection import select
from tracegraph.workbench.what_if.selector import parse_selector
from tracegraph.workbench.what_if.steps import span_of_step

if TYPE_CHECKING:
    from networkx import MultiDiGraph
    from rustworkx import PyDiGraph

    from tracegraph.workbench.run import Run

Ids = int | Sequence[int] | pd.Index | pd.DataFrame | Ints
"""Ids of nodes or edges, or rows of their frames."""


class CausalGraph:
    """Segments (nodes) and dependencies (edges) of a run or of one of its steps, to be edited.

    Nothing is changed in the stored run. Every answer is the replay that `what_if` uses: without edits it
    reproduces every start, and an edit gains what `what_if` predicts (as recorded, `naive`) for the same
    change. In the graph of a step, what starts in the step can be edited; what runs before and after it is
    replayed, too.

    A run of 1M events has 1.0 to 2.1M nodes and 1.2 to 2.1M edges: see `docs/python.md` for what that costs.
    """

    def __init__(
        self,
        run: str,
        graph: ReplayGraph,
        tables: Callable[[], GraphTables],
        step: StepWindow | None,
        store: "Callable[[CausalGraph, str], Run]",
    ) -> None:
        self.run, self.step = run, step
        self._tables, self._store = tables, store
        self._span: Span = whole_window(graph) if step is None else span_of_step(graph, step)
        self._recorded = self._edited = unedited(graph)

    @property
    def nodes(self) -> pd.DataFrame:
        """The segments by id, one row each: where and when they were recorded, with their work as edited.

        Columns: name, category (`gap` for waits and gaps), rank, lane, start_ns, end_ns, work_ns, kind
        (`work`, `wait`, `gap`), source_index (0-based position in the file's traceEvents, missing for a gap).
        """
        return node_frame(self._edited, self._node_ids)

    @property
    def edges(self) -> pd.DataFrame:
        """The dependencies between them by id, as edited.

        Columns: cause, effect (ids of nodes), kind, mechanism, evidence, confidence (0..1), lag_ns (what a
        replay adds to the cause's completion), gap_ns and binding (as recorded).
        """
        return edge_frame(self._edited, edges_between(self._edited, self._span.inside))

    @property
    def length_ns(self) -> int:
        """Length of the run's window, or of the step, after the edits, ns."""
        return self._span.length_where(self._outcome.end, self._before)

    @property
    def recorded_ns(self) -> int:
        """Length of the run's window, or of the step, as recorded, ns."""
        return self._span.length_ns

    def select(self, selector: str) -> Ints:
        """Find the ids of the nodes that a selector of `what_if` means, such as `under=train_step`.

        Raises
        ------
        InputError
            The selector selects nothing.
        """
        found: Ints = np.flatnonzero(
            select(self._edited.graph, parse_selector(selector)).segments & self._span.inside
        )
        return found

    def set_work(self, nodes: Ids, work_ns: int | Sequence[int] | Ints) -> None:
        """Set how long segments work, ns: one number for all of them, or one for each.

        Raises
        ------
        InputError
            There is no such node, the work is below 0, or the node is a wait, whose length is that of what it
            waits for.
        """
        at = as_ids(nodes, self._span.inside)
        self._set_work(at, check_work(self._edited, at, work_ns))

    def scale_work(self, nodes: Ids, factor: float) -> None:
        """Multiply the work of segments by a factor.

        Raises
        ------
        InputError
            There is no such node, or the factor is not a number of 0 or more.
        """
        at = as_ids(nodes, self._span.inside)
        self._set_work(at, np.rint(self._edited.work[at] * check_factor(factor)).astype(np.int64))

    def set_lag(self, edges: Ids, lag_ns: int | Sequence[int] | Ints) -> None:
        """Set the least time between the completion of a cause and the start of its effect, ns.

        Raises
        ------
        InputError
            There is no such edge, the lag is below 0, or the edge is one by which a thread goes on by itself.
        """
        at = check_edges(self._edited, edges, self._span.inside)
        lag = self._edited.dependencies.lag.copy()
        lag[at] = check_lags(self._edited, at, lag_ns)
        self._change(dependencies=replace(self._edited.dependencies, lag=lag))

    def remove_edges(self, edges: Ids) -> None:
        """Remove dependencies: their effects no longer wait for these causes.

        Raises
        ------
        InputError
            There is no such edge, or it is program order: a thread does one thing after the other.
        """
        at = check_removed(self._edited, check_edges(self._edited, edges, self._span.inside))
        kept = self._edited.kept.copy()
        kept[at] = False
        self._change(kept=kept)

    def add_edges(self, cause: Ids, effect: Ids, *, lag_ns: int = 0, mechanism: str | None = None) -> Ints:
        """Let effects wait for these causes.

        Parameters
        ----------
        lag_ns
            The least time between the completion of a cause and the start of its effect.
        mechanism
            A rule of docs/rules.md; by default the usual one between their lanes.

        Returns
        -------
        ndarray of int64
            The ids of the new edges. They count as inferred, with a confidence of 1. Causes may have been
            recorded after their effects.

        Raises
        ------
        InputError
            There is no such node, the numbers of causes and effects differ, or the edge cannot exist: it lies
            within a thread, or leads to what begins one. The next answer refuses a cycle.
        """
        ends = (as_ids(cause, self._span.inside), as_ids(effect, self._span.inside))
        first = len(self._edited.dependencies)
        self._take(with_added(self._edited, new_dependencies(self._edited, *ends, lag_ns, mechanism)))
        return np.arange(first, len(self._edited.dependencies))

    def replay(self) -> pd.DataFrame:
        """Replay the graph and return when each segment starts after the edits, by the ids of `nodes`.

        Returns
        -------
        DataFrame
            Columns: start_ns, work_ns, completion_ns, earlier_ns (than recorded), on_path (whether the
            segment leads to the end of the window or step).

        Raises
        ------
        InputError
            Segments depend on each other in a cycle.
        """
        return replay_frame(self._edited, self._outcome, self._node_ids)

    def critical_path(self) -> pd.DataFrame:
        """Return the path after the edits, in the rows and columns of the query `critical_path`.

        Margins are those of the replay: which cause of a near-tie is likelier is not judged again.

        Raises
        ------
        InputError
            Segments depend on each other in a cycle.
        StoreError
            The run is not kept in the workspace, or is damaged.
        """
        scenario = self.scenario()
        if self.step is not None:
            scenario = of_step(scenario, self.step.rank, self.step.number)
        rows = path_table(scenario).to_pandas(types_mapper=nullable)
        texts = [column.name for column in PATH_COLUMNS if column.type == "STRING"]
        return in_types(rows.astype(dict.fromkeys(texts, object)), PATH_COLUMNS)

    def scenario(self) -> Scenario:
        """Build the scenario that the edits make of the run, as it would be stored."""
        return build_scenario(self._tables(), self._edited.graph, self._edited.replayed(self._span))

    def keep(self, name: str) -> "Run":
        """Store the edited graph as a run of this name: see `WhatIf.keep`.

        Raises
        ------
        InputError
            A run of this name holds something else, or the edits make a cycle.
        StoreError
            The database or the workspace cannot be used.
        """
        return self._store(self, name)

    def copy(self) -> "CausalGraph":
        """Return a graph with the same edits, which can be edited independently."""
        return copy.copy(self)

    def reset(self) -> None:
        """Take all edits back."""
        self._take(self._recorded)

    def to_rustworkx(self, nodes: Ids | None = None) -> "PyDiGraph[dict[str, Any], dict[str, Any]]":
        """Export the graph, or some of its nodes, as a `rustworkx.PyDiGraph`; `take` reads edits back.

        Nodes and edges hold dictionaries of the columns of `nodes` and `edges` with their ids, as `node` and
        `edge`. It needs the extra `graph`; a million nodes take some 5 s and 1.1 GB.

        Raises
        ------
        StoreError
            The library rustworkx is not installed.
        """
        return to_rustworkx(*self._part(nodes))

    def to_networkx(self, nodes: Ids | None = None) -> "MultiDiGraph":
        """Export as `to_rustworkx` does, to a `networkx.MultiDiGraph`; nodes and keys of edges are ids.

        A million nodes take some 30 s and 2 GB.

        Raises
        ------
        StoreError
            The library networkx is not installed.
        """
        return to_networkx(*self._part(nodes))

    def take(self, network: Any) -> None:
        """Take over the edits in a graph, or a part of it, that `to_rustworkx` or `to_networkx` returned.

        It reads `work_ns` of the nodes, `lag_ns` of the edges, which edges between the nodes are gone, and
        new edges, which may have `lag_ns` and `mechanism`. Nodes that are gone change nothing.

        Raises
        ------
        InputError
            The object is not such a graph, or it holds an edit that is not possible.
        """
        before = self._edited
        try:
            take_edges(self, take_work(self, network))
        except Exception:
            self._take(before)
            raise

    def as_json(self) -> dict[str, object]:
        """Return what was edited and gained, as a kept scenario states it; times in ns, shares 0..1."""
        gain = Gain(self.recorded_ns, self.length_ns)
        said = gain_json(gain)
        return {
            "run": self.run,
            "change": {"edits": self._edits()},
            "step": None if self.step is None else self.step.number,
            "window_ns": [self._span.start, self._span.end],
            "basis": NAIVE,
            **said,
            "naive": said,
            "range": range_json(*possible_range([gain])),
        }

    def __repr__(self) -> str:
        of = self.run if self.step is None else f"{self.run}, step {self.step.number}"
        return (
            f"<CausalGraph of {of}: {len(self._node_ids)} nodes, "
            f"{format_ns(self.length_ns)} of {format_ns(self.recorded_ns)}>"
        )

    def _edits(self) -> Mapping[str, object]:
        edited, recorded = self._edited, self._recorded
        count = len(recorded.dependencies)
        columns = (edited.work, edited.kept, *(getattr(edited.dependencies, name) for name in _CHOSEN))
        digest = hashlib.sha256()
        for column in columns:
            digest.update(column.tobytes())
        return {
            "work": int((edited.work != recorded.work).sum()),
            "lags": int((edited.dependencies.lag[:count] != recorded.dependencies.lag).sum()),
            "removed": int((~edited.kept).sum()),
            "added": len(edited.dependencies) - count,
            "sha256": digest.hexdigest(),
        }

    def _part(self, nodes: Ids | None) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return some nodes, by default all, and the edges between them."""
        if nodes is None:
            return self.nodes, self.edges
        chosen = as_ids(nodes, self._span.inside)
        inside = np.zeros(len(self._span.inside), dtype=bool)
        inside[chosen] = True
        return node_frame(self._edited, np.flatnonzero(inside)), edge_frame(
            self._edited, edges_between(self._edited, inside)
        )

    @cached_property
    def _node_ids(self) -> Ints:
        return np.flatnonzero(self._span.inside)

    @cached_property
    def _before(self) -> int:
        return self._recorded.run(self._span).end

    @cached_property
    def _outcome(self) -> Outcome:
        return self._edited.run(self._span)

    def _set_work(self, nodes: Ints, work: Ints) -> None:
        whole = self._edited.work.copy()
        whole[nodes] = work
        self._change(work=whole)

    def _change(self, **columns: Any) -> None:
        self._take(replace(self._edited, **columns))

    def _take(self, edited: Edited) -> None:
        self._edited = edited
        self.__dict__.pop("_outcome", None)


_CHOSEN = ("cause", "effect", "mechanism", "lag")
"""The columns of the dependencies that an edit sets; the digest of the edits covers them."""
