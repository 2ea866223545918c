"""The steps of a run compared with each other: what is usual, and which are not."""

from dataclasses import dataclass

import pandas as pd

from tracegraph.queries.shapes import spread_of

_LEAST_STEPS = 2


@dataclass(frozen=True)
class StepSummary:
    """Lengths of the steps in ns; `spread_ns` is 1.4826 * MAD, the standard deviation if they were normal.

    `typical`: number of the step whose length is nearest to the median. `outliers`: numbers of those more
    than three spreads from it.
    """

    count: int
    median_ns: int
    spread_ns: int
    shortest_ns: int
    longest_ns: int
    typical: int
    outliers: tuple[int, ...]


def summarise_steps(paths: pd.DataFrame) -> StepSummary | None:
    """Return what the rows of `step_paths` have in common; None for fewer than two."""
    if len(paths) < _LEAST_STEPS:
        return None
    lengths = paths["length_ns"]
    return StepSummary(
        count=len(paths),
        median_ns=round(lengths.median()),
        spread_ns=round(spread_of(lengths)),
        shortest_ns=int(lengths.min()),
        longest_ns=int(lengths.max()),
        typical=int(paths.loc[paths["typical"], "number"].iloc[0]),
        outliers=tuple(int(number) for number in paths.loc[paths["outlier"], "number"]),
    )
