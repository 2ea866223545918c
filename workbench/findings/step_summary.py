"""The steps of a run compared with each other: what is usual, and which are not."""

from dataclasses import dataclass

import pandas as pd

from tracegraph.queries.shapes.path.step_paths import spread_of

_LEAST_STEPS = 2
"""Fewer steps cannot be compared with each other."""


@dataclass(frozen=True)
class TypeSummary:
    """Steps of one type, with the fields of `StepSummary`.

    `batch`, `tokens`: the least and the most of the steps; None if unknown.
    """

    type: str
    count: int
    total_ns: int
    median_ns: int
    spread_ns: int
    shortest_ns: int
    longest_ns: int
    typical: int
    outliers: tuple[int, ...]
    batch: tuple[int, int] | None
    tokens: tuple[int, int] | None


@dataclass(frozen=True)
class StepSummary:
    """Lengths of the steps in ns.

    `spread_ns` is 1.4826 * MAD, which is the standard deviation if the lengths are normally distributed.
    `typical`: number of the step whose length is nearest to the median. `outliers`: numbers of those more
    than three spreads from it. Iterations of a server are compared within their type: `types`, the one with
    the most time first, whose typical step is that of all.
    """

    count: int
    median_ns: int
    spread_ns: int
    shortest_ns: int
    longest_ns: int
    typical: int
    outliers: tuple[int, ...]
    types: tuple[TypeSummary, ...] = ()


def summarise_steps(paths: pd.DataFrame) -> StepSummary | None:
    """Summarise the rows of `step_paths`; None for fewer than two."""
    if len(paths) < _LEAST_STEPS:
        return None
    lengths = paths["length_ns"]
    types = [_of_type(str(name), rows) for name, rows in paths.groupby("type", sort=True)]
    types.sort(key=lambda one: -one.total_ns)
    return StepSummary(
        count=len(paths),
        median_ns=round(lengths.median()),
        spread_ns=round(spread_of(lengths)),
        shortest_ns=int(lengths.min()),
        longest_ns=int(lengths.max()),
        typical=types[0].typical if types else int(paths.loc[paths["typical"], "number"].iloc[0]),
        outliers=tuple(int(number) for number in paths.loc[paths["outlier"], "number"]),
        types=tuple(types),
    )


def _of_type(name: str, rows: pd.DataFrame) -> TypeSummary:
    lengths = rows["length_ns"]
    return TypeSummary(
        type=name,
        count=len(rows),
        total_ns=int(lengths.sum()),
        median_ns=round(lengths.median()),
        spread_ns=round(spread_of(lengths)),
        shortest_ns=int(lengths.min()),
        longest_ns=int(lengths.max()),
        typical=int(rows.loc[rows["typical"], "number"].iloc[0]),
        outliers=tuple(int(number) for number in rows.loc[rows["outlier"], "number"]),
        batch=_range_of(rows["batch"]),
        tokens=_range_of(rows["tokens"]),
    )


def _range_of(values: "pd.Series[int]") -> tuple[int, int] | None:
    known = values.dropna()
    return None if known.empty else (int(known.min()), int(known.max()))
