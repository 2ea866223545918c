"""All queries by name, each with its parameters, its columns and the function that runs it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pandas as pd

from tracegraph.queries import events, inventory, path, steps, timeline, windows
from tracegraph.queries.inventory import first_rank, ready_run
from tracegraph.queries.module import Column, CypherModule, Parameter, load
from tracegraph.store.connection import Database
from tracegraph.store.errors import InputError

WINDOW = ("start_ns", "end_ns", "chain")
"""Parameters that a window gives, for those who do not give them themselves."""
STEP = Parameter("step", "INTEGER", "number in ProfilerStep#N: the window of this step")

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
    path.critical_path,
    path.path_hops,
    path.hotspots,
    path.path_gaps,
    path.path_composition,
    path.near_ties,
    path.second_causes,
    steps.step_hotspots,
    steps.step_paths,
    steps.recurring_hotspots,
    timeline.near_critical,
    timeline.lane_waits,
    timeline.gpu_busy,
    timeline.lane_timeline,
    timeline.lane_dependencies,
    events.events_named,
    events.events_about,
    events.call_tree,
    events.launches,
    events.event_causes,
    events.event_history,
    events.hotspot_neighbourhood,
)

_SHAPED = {
    "critical_path": ("critical_path", path.PATH_SUMMARY, path.PATH_COLUMNS),
    "step_paths": ("step_hotspots", steps.STEP_SUMMARY, steps.STEP_COLUMNS),
    "recurring_hotspots": ("step_hotspots", steps.RECURRING_SUMMARY, steps.RECURRING_COLUMNS),
}
"""Queries whose rows are made of those of a Cypher module: that module, their sentence and their columns."""


@dataclass(frozen=True)
class Query:
    """A query that can be called by name; `module` is the Cypher behind it."""

    name: str
    summary: str
    module: CypherModule
    columns: tuple[Column, ...]
    function: Callable[..., pd.DataFrame]

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What a caller may give: the Cypher's parameters, and the step where a window is among them."""
        return (*self.module.parameters, STEP) if self.window else self.module.parameters

    @property
    def window(self) -> tuple[str, ...]:
        """Which parameters a window gives."""
        return tuple(p.name for p in self.module.parameters if p.name in WINDOW)

    def parse(self, texts: Mapping[str, str]) -> dict[str, object]:
        """Values of texts typed by a user; InputError for an unknown name or a text of another type."""
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in texts:
            if name not in known:
                valid = f"{self.name} takes: {', '.join(known)}" if known else "it takes none"
                raise InputError(f"query {self.name} has no parameter {name}", valid)
        return {name: known[name].parse(text) for name, text in texts.items()}

    def run(self, database: Database, values: Mapping[str, object]) -> pd.DataFrame:
        """Result for `values` of the parameters; InputError when one is missing, unknown or not allowed."""
        return self.function(database, **self.module.complete(values))


def _query(function: Callable[..., pd.DataFrame]) -> Query:
    name = function.__name__
    if name in _SHAPED:
        cypher, summary, columns = _SHAPED[name]
        return Query(name, summary, load(cypher), columns, function)
    module = load(name)
    return Query(name, module.summary, module, module.columns, function)


def queries() -> dict[str, Query]:
    """All queries by name, in the order in which they are listed."""
    return {function.__name__: _query(function) for function in _FUNCTIONS}


def find(name: str) -> Query:
    """The query of that name; InputError lists those there are."""
    listed = queries()
    if name not in listed:
        raise InputError(f"there is no query named {name!r}", f"there are: {', '.join(sorted(listed))}")
    return listed[name]


def fill(database: Database, query: Query, given: Mapping[str, object]) -> dict[str, object]:
    """Values for a query: `given`, the newest run unless one is given, its first rank, and its window.

    The window is that of the step, if one is given, else of the run. A path ends in the chain whose work ends
    at the window's end, so `end_ns` and `chain` are given together or not at all.

    Raises:
        InputError: no such run or step, a step beside a part of a window, `end_ns` or `chain` alone.
    """
    values = dict(given)
    if any(parameter.name == "run" for parameter in query.parameters):
        run = values.get("run")
        values["run"] = name = ready_run(database, None if run is None else str(run))
        if "rank" not in values and any(parameter.name == "rank" for parameter in query.parameters):
            values["rank"] = first_rank(database, name)
    step = values.pop(STEP.name, None)
    if step is not None and any(name in values for name in query.window):
        raise InputError(f"a step gives {', '.join(query.window)}", "give the step or them")
    if "chain" in query.window and ("chain" in values) != ("end_ns" in values):
        raise InputError("end_ns and chain belong together", "give both or none of them")
    if all(name in values for name in query.window):
        return values
    window = (
        windows.run_window(database, str(values["run"]))
        if step is None
        else windows.step_window(database, str(values["run"]), int(str(step)))
    )
    return {name: int(window[name].iloc[0]) for name in query.window} | values
