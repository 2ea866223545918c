"""All queries by name, each with its parameters, its columns and the function that runs it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pandas as pd

from tracegraph.queries import events, inventory, path, timeline, windows
from tracegraph.queries.module import Column, CypherModule, load
from tracegraph.store.connection import Database
from tracegraph.store.errors import InputError

WINDOW = ("start_ns", "end_ns", "chain")
"""Parameters that a window gives, for those who do not give them themselves."""

_FUNCTIONS: tuple[Callable[..., pd.DataFrame], ...] = (
    inventory.runs,
    inventory.run_details,
    inventory.newest_ready_run,
    inventory.traces,
    inventory.steps,
    inventory.lanes,
    inventory.dependency_counts,
    windows.run_window,
    windows.step_window,
    path.path_segments,
    path.path_hops,
    path.hotspots,
    path.path_gaps,
    path.path_composition,
    path.near_ties,
    timeline.near_critical,
    timeline.gpu_busy,
    timeline.lane_timeline,
    timeline.lane_dependencies,
    events.events_named,
    events.call_tree,
    events.launches,
    events.event_causes,
    events.hotspot_neighbourhood,
)


@dataclass(frozen=True)
class Query:
    """A query that can be called by name; `module` is the Cypher behind it and declares its parameters."""

    name: str
    summary: str
    module: CypherModule
    columns: tuple[Column, ...]
    function: Callable[..., pd.DataFrame]

    def run(self, database: Database, values: Mapping[str, object]) -> pd.DataFrame:
        """Result for `values` of the parameters; InputError when one is missing, unknown or not allowed."""
        return self.function(database, **self.module.complete(values))


def _query(function: Callable[..., pd.DataFrame]) -> Query:
    module = load(function.__name__)
    return Query(module.name, module.summary, module, module.columns, function)


def queries() -> dict[str, Query]:
    """All queries by name, in the order in which they are listed."""
    listed = {function.__name__: _query(function) for function in _FUNCTIONS}
    summary = "The rows of a window's critical path in time order: events and named gaps that tile it."
    segments = listed["path_segments"].module
    listed["critical_path"] = Query("critical_path", summary, segments, path.PATH_COLUMNS, path.critical_path)
    return listed


def find(name: str) -> Query:
    """The query of that name; InputError lists those there are."""
    listed = queries()
    if name not in listed:
        raise InputError(f"there is no query named {name!r}", f"there are: {', '.join(sorted(listed))}")
    return listed[name]


def fill_window(
    database: Database, query: Query, run: str, given: Mapping[str, object], step: int | None = None
) -> dict[str, object]:
    """Values for a query: `given`, its run, and what is missing of its window.

    The window is that of the step, else of the run. A path ends in the chain whose work ends at the window's
    end, so `end_ns` and `chain` are given together or not at all.

    Raises:
        InputError: no such step, a step for a query without a window, or only one of `end_ns` and `chain`.
    """
    names = {parameter.name for parameter in query.module.parameters}
    values = dict(given)
    if "run" in names:
        values.setdefault("run", run)
    wanted = [name for name in WINDOW if name in names]
    if step is not None and (not wanted or any(name in values for name in wanted)):
        raise InputError(
            f"query {query.name} cannot be cut to step {step}",
            "a step goes with queries that take start_ns and end_ns, in their place",
        )
    if "chain" in wanted and ("chain" in values) != ("end_ns" in values):
        raise InputError("end_ns and chain belong together", "give both or none of them")
    if any(name not in values for name in wanted):
        row = (
            windows.run_window(database, run)
            if step is None
            else windows.step_window(database, run, number=step)
        ).iloc[0]
        for name in wanted:
            values.setdefault(name, int(row[name]))
    return values
