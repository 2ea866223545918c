"""Compares a prediction with a measurement: whether a scenario came true in a run recorded later."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, variance

import pandas as pd

from tracegraph.base.errors import InputError
from tracegraph.ingest.text_columns import read_texts, with_role
from tracegraph.store.tables import GraphTables
from tracegraph.vocabulary.canonical_names import common_name, without_address
from tracegraph.vocabulary.categories import NOT_IN_LANES
from tracegraph.vocabulary.step_names import STEP_PREFIX, counted_as
from tracegraph.workbench.diff.significance import welch

_SURE = 0.95
"""The confidence of the interval of the measured gain."""
_MOST_CHANGED = 10
"""How many names with unexpected own times are listed."""
_NAMED = ["name", "category"]


@dataclass(frozen=True)
class Predicted:
    """The predicted gain of a step, as the profiler would show it, and its range; ns."""

    gain_ns: int
    low_ns: int
    high_ns: int


@dataclass(frozen=True)
class Measured:
    """The measured gain of a step on average, with Welch's interval of 95 %; ns.

    For runs without steps it is the gain of the window, which has no interval: `steps_base` and
    `steps_later` are 0.
    """

    gain_ns: int
    low_ns: int | None
    high_ns: int | None
    steps_base: int
    steps_later: int


@dataclass(frozen=True)
class NameChange:
    """Own time of all events of a name in a step, ns: in the base run, as predicted, and in the later run."""

    name: str
    category: str
    base_ns: int
    predicted_ns: int
    later_ns: int


@dataclass(frozen=True)
class Verification:
    """What was predicted for a step of `base`, and what `later` shows.

    `changed`: the names whose own time differs most from what the scenario assumed, the largest difference
    first.
    """

    scenario: str
    base: str
    later: str
    predicted: Predicted
    measured: Measured
    changed: Sequence[NameChange]

    @property
    def holds(self) -> bool:
        """Tell whether the measured interval and the predicted range have a value in common."""
        one = self.measured
        low = one.gain_ns if one.low_ns is None else one.low_ns
        high = one.gain_ns if one.high_ns is None else one.high_ns
        return low <= self.predicted.high_ns and high >= self.predicted.low_ns

    def as_json(self) -> dict[str, object]:
        """Return the answer for scripts; keys may be added, never renamed. Times are in ns."""
        return {
            "scenario": self.scenario,
            "base": self.base,
            "later": self.later,
            "predicted": asdict(self.predicted),
            "measured": asdict(self.measured),
            "holds": self.holds,
            "changed": [asdict(one) for one in self.changed],
        }


def base_of(scenario: GraphTables) -> str:
    """Find the run that a scenario is a change of.

    Raises
    ------
    InputError
        The run is not a scenario.
    """
    base = _said(scenario, "scenario_of")
    if base is None:
        raise InputError(
            f"the run {scenario.run!r} is no scenario",
            f"keep one: tracegraph what-if --run {scenario.run} --remove SEL --keep NAME",
        )
    return base


def verify(scenario: GraphTables, base: GraphTables, later: GraphTables) -> Verification:
    """Compare the steps of a run recorded after a change was made with what its scenario predicted.

    Raises
    ------
    InputError
        `later` is a scenario, too, or one of two runs with steps has fewer than two.
    """
    if _said(later, "scenario_of") is not None:
        raise InputError(f"the run {later.run!r} is a scenario", "name a run that was recorded")
    change = json.loads(_said(scenario, "change") or "{}")
    return Verification(
        scenario=scenario.run,
        base=base.run,
        later=later.run,
        predicted=_predicted(change, scenario, base),
        measured=_measured(base, later),
        changed=_changed(scenario, base, later, change["step"]),
    )


def _said(tables: GraphTables, name: str) -> str | None:
    """Read a property of the Run node; None if it is not there."""
    run = tables.nodes["Run"]
    return run[name][0].as_py() if name in run.column_names else None


def _lengths(tables: GraphTables) -> dict[int, int]:
    """Compute the length of each step by its number, ns: if several ranks have it, of the last to end it."""
    rows = sorted(tables.nodes["Step"].to_pylist(), key=lambda row: (row["window_end_ns"], -row["rank"]))
    return {row["number"]: row["end_ns"] - row["start_ns"] for row in rows}


def _window_ns(tables: GraphTables) -> int:
    run = tables.nodes["Run"]
    length: int = run["window_end_ns"][0].as_py() - run["window_start_ns"][0].as_py()
    return length


def _predicted(change: Mapping[str, object], scenario: GraphTables, base: GraphTables) -> Predicted:
    """Compute what a step gains in the scenario; its range is that of the corrected gain, in proportion.

    It ends at what is taken away from the recorded steps, if the scenario says it: how these differ is in the
    measured interval.
    """
    before, after = _lengths(base), _lengths(scenario)
    chosen = before.keys() & after.keys()
    if change["step"] is not None:
        chosen &= {change["step"]}
    gains = [before[number] - after[number] for number in chosen]
    gain = fmean(gains) if gains else _window_ns(base) - _window_ns(scenario)
    corrected, limits = change["gain_ns"], change["range"]
    assert isinstance(corrected, int)
    assert isinstance(limits, dict)
    at_most = limits["gain_high_ns"]
    if "removed_ns" in change:  # a graph that was edited by hand has none
        naive, removed = change["naive"], change["removed_ns"]
        assert isinstance(naive, dict)
        assert isinstance(removed, int)
        at_most = min(at_most, max(removed, naive["gain_ns"], corrected))
    low, high = (
        gain * limit / corrected if corrected else gain + limit for limit in (limits["gain_low_ns"], at_most)
    )
    return Predicted(round(gain), round(min(low, high)), round(max(low, high)))


def _measured(base: GraphTables, later: GraphTables) -> Measured:
    before, after = [*_lengths(base).values()], [*_lengths(later).values()]
    if not before and not after:
        return Measured(_window_ns(base) - _window_ns(later), None, None, 0, 0)
    for tables, lengths in ((base, before), (later, after)):
        if len(lengths) < 2:
            count = f"{len(lengths)} step{'' if len(lengths) == 1 else 's'}"
            raise InputError(
                f"the run {tables.run!r} has {count}, so it cannot be told how much steps vary",
                "record at least two steps in both runs",
            )
    gain, half = fmean(before) - fmean(after), _half_interval(before, after)
    return Measured(round(gain), round(gain - half), round(gain + half), len(before), len(after))


def _half_interval(first: Sequence[int], second: Sequence[int]) -> float:
    """Compute half of Welch's interval for the difference of two means.

    Zero if neither side varies.
    """
    # Imported here: scipy takes as long to load as all the rest.
    from scipy.special import stdtrit  # noqa: PLC0415

    means = ((math.sqrt(variance(values) / len(values)), len(values) - 1) for values in (first, second))
    error, freedom = welch(*means)
    return float(stdtrit(freedom, (1 + _SURE) / 2)) * error


def _changed(
    scenario: GraphTables, base: GraphTables, later: GraphTables, step: int | None
) -> Sequence[NameChange]:
    """Find the names whose own time in a step is most unlike what the scenario assumed."""
    own = pd.DataFrame({"base": _own_times(base), "later": _own_times(later)})
    assumed = _own_times(scenario, step).sub(_own_times(base, step), fill_value=0)
    rows = own.join(assumed.rename("gain"), how="left").fillna(0)
    rows["predicted"] = rows["base"] + rows["gain"]
    rows["unlike"] = (rows["later"] - rows["predicted"]).abs()
    most = rows[rows["unlike"] >= 1].sort_values("unlike", ascending=False, kind="stable")
    times = most[["base", "predicted", "later"]].round().astype("int64").to_numpy().tolist()
    return [
        NameChange(str(name), str(category), *ns)
        for (name, category), ns in zip(most.index.tolist()[:_MOST_CHANGED], times, strict=False)
    ]


def _own_times(tables: GraphTables, step: int | None = None) -> "pd.Series[float]":
    """Sum the own time of all events by name and category, ns: in a step on average, or in one step.

    For a run without steps it is the sum over the run. Addresses that differ from process to process are
    removed from the names.
    """
    events = tables.read_nodes("Event", (*_NAMED, "self_ns", "step"))
    steps = _lengths(tables)
    columns = {name: read_texts(events[name].dictionary_encode()) for name in _NAMED}
    name = columns["name"].renamed(_common(tables, columns["name"].values.tolist()))
    rows = pd.DataFrame(
        {
            "name": name[slice(None)],
            "category": columns["category"][slice(None)],
            "own": events["self_ns"].to_numpy(),
            "step": events["step"].to_pandas(),
        }
    )
    counted = ~with_role(columns["category"], *NOT_IN_LANES)
    if steps:
        counted &= rows["step"].notna().to_numpy() if step is None else (rows["step"] == step).to_numpy()
    own: pd.Series[float] = rows[counted].groupby(_NAMED)["own"].sum()
    return own / (len(steps) if steps and step is None else 1)


def _common(tables: GraphTables, names: Sequence[str]) -> dict[str, str]:
    """Map each name to what it is called in every process and step: see `common_name` and `counted_as`."""
    marked = [(str(name), STEP_PREFIX) for name in tables.nodes["Step"]["name"].to_pylist()]
    return {name: common_name(without_address(name)) for name in names} | counted_as(names, marked)
