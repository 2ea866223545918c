"""The run, rank and window that a question is about, if its caller does not say."""

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from tracegraph.base.errors import InputError, StoreError
from tracegraph.base.suggest import did_you_mean
from tracegraph.queries.catalog import Query
from tracegraph.queries.module import Parameter, python_value
from tracegraph.queries.phase_windows import phase_window
from tracegraph.queries.run_part import WHOLE, RunPart
from tracegraph.queries.shapes.peak.job import STATED_PARAMETERS, Job, read_job
from tracegraph.queries.shapes.two_windows import RUN, about_b, apart, together
from tracegraph.store.schema.schema import SCHEMA_VERSION
from tracegraph.vocabulary.phases import PHASE_NAMES

WINDOW = ("start_ns", "end_ns", "chain")
"""Parameters whose values come from a window, unless a caller gives them."""
STEP = Parameter("step", "INTEGER", "number of a step: the window of this step")
PHASE = Parameter(
    "phase", "STRING", f"phase, of the step where there are steps: {', '.join(PHASE_NAMES)}; its window"
)
OCCURRENCE = Parameter("occurrence", "INTEGER", "which phase of that name, 1 the first; by default the last")
RANK = Parameter("rank", "INTEGER", "rank of that step or phase, by default the one that ends it last")
PARTS = (STEP, PHASE, OCCURRENCE, RANK)
"""The parameters that name a part of a run."""
Ask = Callable[[str, Mapping[str, object]], pd.DataFrame]
"""Gives the rows of a query by name for values of its parameters, such as `Answers.of`."""


@dataclass(frozen=True)
class RunWindow:
    """The start and end of a critical path in ns, and the chain that it ends in."""

    start_ns: int
    end_ns: int
    chain: int


def ready_run(ask: Ask, run: str | None = None) -> str:
    """Return the name of `run`, or of the newest run, after a check that it can be queried.

    Raises
    ------
    InputError
        There is no such run, it is not complete, or another version of the schema wrote it.
    """
    if run is None:
        newest = ask("newest_ready_run", {})
        if newest.empty:
            raise InputError("no run is stored", "ingest a trace first: tracegraph ingest TRACE")
        run = str(newest["name"].iloc[0])
    details = ask("run_details", {"run": run})
    if details.empty:
        raise unknown_run(ask, run)
    if details["state"].iloc[0] != "ready":
        raise InputError(f"run {run!r} is not completely stored", "ingest its trace again")
    stated = details["schema_version"].iloc[0]
    version = SCHEMA_VERSION if pd.isna(stated) else int(stated)
    if version != SCHEMA_VERSION:
        raise InputError(
            f"run {run!r} has schema version {version}, not {SCHEMA_VERSION} as here",
            "update tracegraph" if version > SCHEMA_VERSION else "ingest its trace again",
        )
    return run


def job_of(ask: Ask, run: str) -> Job:
    """Return what was said at ingest of the job that a stored run is of."""
    return read_job(ask("run_details", {"run": run})["job"].iloc[0])


def unknown_run(ask: Ask, name: str) -> InputError:
    """Make the error about a name of no stored run, with the one that may have been meant."""
    stored = ask("runs", {})["name"]
    return InputError(
        f"there is no run named {name!r}", did_you_mean(name, stored, "tracegraph runs lists those stored")
    )


def first_rank(ask: Ask, run: str) -> int:
    """Return the lowest rank of a run: that of its file if there is one, whatever its number."""
    return int(ask("traces", {"run": run})["rank"].min())


def check_rank(ask: Ask, run: str, rank: int) -> None:
    """Raise InputError, which lists the ranks of a run, if it does not have this one."""
    ranks = sorted(set(ask("traces", {"run": run})["rank"]))
    if ranks and rank not in ranks:
        raise InputError(f"run {run!r} has no rank {rank}", f"present: {', '.join(map(str, ranks))}")


def last_of_step(ask: Ask, run: str, step: int) -> int:
    """Return the rank on which a step ends last, of several the lowest; the first rank if none has it."""
    steps = ask("steps", {"run": run})
    found = steps[steps["number"].eq(step)].sort_values(["window_end_ns", "rank"], ascending=[False, True])
    return first_rank(ask, run) if found.empty else int(found["rank"].iloc[0])


def find_window(ask: Ask, run: str, part: RunPart = WHOLE, *, needs_path: bool = True) -> RunWindow:
    """Find the window of a run, or of a part of it.

    A run of files that only explain a trace has no time: without `needs_path` its window is empty, at 0.

    The window of a step goes from the annotation's start to the later of its end and the end of the GPU work
    launched in it; that of a phase likewise.

    Raises
    ------
    InputError
        The rank has no such step or phase; the message lists those present.
    StoreError
        No work ends at the window's end, so there is no such run or it is damaged.
    """
    step, rank = part.step, part.rank
    if part.phase is not None and (step is None or _has_step(ask, run, step, rank)):
        found = phase_window(ask, run, part)
        if found.empty:
            raise StoreError(
                f"the {part.phase} of run {run!r} has no work that ends it", "ingest its trace again"
            )
    elif step is None:
        return _whole_window(run, ask("run_details", {"run": run}), needs_path=needs_path)
    else:
        rank = last_of_step(ask, run, step) if rank is None else rank
        found = ask("step_window", {"run": run, "number": step, "rank": rank})
        if found.empty:
            raise _no_step(ask, run, step, rank)
    return RunWindow(*(int(found[name].iloc[0]) for name in WINDOW))


def _whole_window(run: str, details: pd.DataFrame, *, needs_path: bool) -> RunWindow:
    """Read the window of a whole run from the rows of `run_details`."""
    said = details[["window_start_ns", "window_end_ns", "end_chain"]].dropna()
    if len(said):
        return RunWindow(*map(int, said.iloc[0]))
    is_without_trace = bool(details["events"].eq(0).fillna(False).any())
    if is_without_trace and not needs_path:
        return RunWindow(0, 0, 0)
    if is_without_trace:
        raise InputError(
            f"run {run!r} has no trace, only files that explain one",
            "ingest them together: tracegraph ingest TRACE --with FILE",
        )
    raise StoreError(f"run {run!r} has no work that ends its window", "ingest its trace again")


def _has_step(ask: Ask, run: str, step: int, rank: int | None) -> bool:
    steps = ask("steps", {"run": run})
    of_rank = True if rank is None else steps["rank"].eq(rank)
    return bool((steps["number"].eq(step) & of_rank).any())


def _no_step(ask: Ask, run: str, step: int, rank: int) -> InputError | StoreError:
    steps = ask("steps", {"run": run})
    present = sorted(set(steps.loc[steps["rank"] == rank, "number"]))
    if step in present:
        return StoreError(f"step {step} of run {run!r} has no work that ends it", "ingest its trace again")
    ranks = sorted(set(steps["rank"]))
    if ranks and rank not in ranks:
        return InputError(
            f"run {run!r} has no step {step} of rank {rank}",
            f"ranks with steps: {', '.join(map(str, ranks))}",
        )
    listed = ", ".join(map(str, present))
    of_rank = f" of rank {rank}" if steps["rank"].nunique() > 1 else ""
    return InputError(
        f"run {run!r} has no step {step}{of_rank}",
        f"present: {listed}" if listed else "its trace has no steps",
    )


def parameters(query: Query) -> tuple[Parameter, ...]:
    """Return what a caller may give: the query's own parameters, and those of a part if it has a window."""
    of_a, of_b = apart({one.name: one for one in query.parameters})
    added = [one for one in PARTS if _window(of_a) and one.name not in of_a]
    added += [about_b(one) for one in PARTS if _window(of_b) and one.name not in of_b]
    return (*query.parameters, *added)


def parse(query: Query, texts: Mapping[str, str]) -> dict[str, object]:
    """Read values from texts typed by a user; InputError for an unknown name or a text of another type."""
    known = {parameter.name: parameter for parameter in parameters(query)}
    for name in texts:
        if name not in known:
            valid = f"{query.name} takes: {', '.join(known)}" if known else "it takes none"
            raise InputError(f"query {query.name} has no parameter {name}", did_you_mean(name, known, valid))
    return {name: known[name].parse(text) for name, text in texts.items()}


def fill(ask: Ask, query: Query, given: Mapping[str, object]) -> dict[str, object]:
    """Complete the values for a query: `given`, or else the newest run, its first rank and its window.

    The window is that of the step or phase if one is given, else of the run. A path ends in the chain whose
    work ends at the window's end, so `end_ns` and `chain` are given together or not at all. What no value
    says of the job is what was said at ingest. If a query
    compares the window with a second one, B, then run, step, phase and rank of B are those of the first
    unless given.

    Raises
    ------
    InputError
        There is no such run, step or phase; one of these is given beside a part of a window; or `end_ns` or
        `chain` is given alone.
    """
    values = {name: python_value(value) for name, value in given.items()}
    taken, taken_b = apart({one.name: one for one in query.parameters})
    if RUN not in taken:
        return values
    of_a, of_b = apart(values)
    filled = _filled(ask, taken, of_a)
    if not taken_b:
        return together(filled, of_b)
    alike = () if any(part in of_b for part in WINDOW) else tuple(one.name for one in PARTS)
    same = {name: of_a[name] for name in alike if name in of_a} | {RUN: filled[RUN]}
    return together(filled, _filled(ask, taken_b, same | of_b))


def _filled(ask: Ask, taken: Mapping[str, Parameter], given: Mapping[str, object]) -> dict[str, object]:
    """Complete the values about one window for the parameters that are `taken`."""
    values = dict(given)
    run = values.get(RUN)
    values[RUN] = name = ready_run(ask, None if run is None else str(run))
    if any(one in STATED_PARAMETERS for one in taken.values()):
        values |= {one: said for one, said in _of_job(ask, name, taken).items() if one not in values}
    if RANK.name in taken and not taken[RANK.name].nullable and RANK.name not in values:
        values[RANK.name] = first_rank(ask, name)
    elif RANK.name in taken and values.get(RANK.name) is not None:
        check_rank(ask, name, int(str(values[RANK.name])))
    wanted = _window(taken)
    if not wanted:
        return values
    part = _part(taken, values)
    if part and any(one in values for one in wanted):
        raise InputError(f"a step or phase gives {', '.join(wanted)}", "give it or them")
    if part.occurrence is not None and part.phase is None:
        raise InputError("the occurrence is that of a phase", "give the phase, too")
    if part.rank is not None and not part and RANK.name not in taken:
        raise InputError("the rank is that of a step or phase", "give that, too")
    if "chain" in wanted and ("chain" in values) != ("end_ns" in values):
        raise InputError("end_ns and chain belong together", "give both or none of them")
    if all(one in values for one in wanted):
        return values
    window = find_window(ask, name, part, needs_path="chain" in wanted)
    return {one: getattr(window, one) for one in wanted} | values


def _of_job(ask: Ask, run: str, taken: Mapping[str, Parameter]) -> dict[str, object]:
    return job_of(ask, run).asked_of(*(name for name, one in taken.items() if one in STATED_PARAMETERS))


def _part(taken: Container[str], values: dict[str, object]) -> RunPart:
    """Take the part of the run that is meant out of `values`, except for what the query takes itself."""
    given: dict[str, Any] = {}
    for one in PARTS:
        value = values.get(one.name) if one.name in taken else values.pop(one.name, None)
        if value is not None:
            one.check(value)
            given[one.name] = value
    return RunPart(**given)


def _window(taken: Container[str]) -> tuple[str, ...]:
    """Return those of the parameters that are `taken` which a window gives."""
    return tuple(name for name in WINDOW if name in taken)
