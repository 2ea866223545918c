"""The table of scores: the simulator's scenarios against their known truth."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pandas as pd

from benchmarks.accuracy.compare import GOOD, Result, compare
from benchmarks.accuracy.markdown import table
from benchmarks.accuracy.sets import JITTER, Oracle, OracleSet

TOLERABLE = 0.995
"""A set with random lags is still acceptable if its recall and overlap are at least this."""
FindPath = Callable[[Path], pd.DataFrame]


def score_all(oracle: Oracle, sets: Iterable[OracleSet], find_path: FindPath) -> Iterator[Result]:
    """Make and score every set."""
    scorer = oracle.scorer()
    for one in sets:
        with oracle.made(one):
            yield compare(one, find_path(one.trace), scorer)


def describe_scores(results: list[Result], through: str) -> str:
    """Write the Markdown: what was reached in all, the table of the scenarios, and the list of misses."""
    parts = [
        f"{len(results)} sets of {results[0].of.events:,} events, each path {through}:",
        "",
        *(_in_one_line(results, jitter=jitter) for jitter in (False, True)),
        "",
        _by_scenario(results),
    ]
    misses = [result for result in results if result.least < GOOD]
    if misses:
        parts += ["", f"Every set below {GOOD}:", "", _list_misses(misses)]
    return "\n".join(parts)


def _in_one_line(results: list[Result], *, jitter: bool) -> str:
    chosen = [result for result in results if (JITTER in result.of.variant) == jitter]
    if not chosen:
        return ""
    good, tolerable = (sum(r.least >= bound for r in chosen) for bound in (GOOD, TOLERABLE))
    lowest = min(result.least for result in chosen)
    return (
        f"- {'Random' if jitter else 'Constant'} lags: recall and overlap are {GOOD} or more in {good} of "
        f"{len(chosen)} sets, {TOLERABLE} or more in {tolerable}; the lowest is {lowest:.4f}."
    )


def _by_scenario(results: list[Result]) -> str:
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        groups.setdefault((result.of.scenario, " ".join(result.of.variant)), []).append(result)
    rows = [
        [
            scenario,
            variant or "constant lags",
            len(group),
            *(f"{value:.4f}" for name in ("recall", "overlap") for value in _least_and_mean(group, name)),
            *(f"{_farthest_from_one(group, name):.3f}" for name in ("total", "tiling")),
            sum(r.least < GOOD for r in group),
            sum(r.least < TOLERABLE for r in group),
        ]
        for (scenario, variant), group in groups.items()
    ]
    columns = ["scenario", "variant", "sets", "recall, least", "mean", "overlap, least", "mean"]
    return table([*columns, "total", "tiling", f"below {GOOD}", f"below {TOLERABLE}"], rows)


def _least_and_mean(group: list[Result], name: str) -> tuple[float, float]:
    values = [float(getattr(result, name)) for result in group]
    return min(values), sum(values) / len(values)


def _farthest_from_one(group: list[Result], name: str) -> float:
    return max((float(getattr(result, name)) for result in group), key=lambda value: abs(value - 1))


def _list_misses(misses: list[Result]) -> str:
    columns = [
        "set",
        "recall",
        "overlap",
        "missed",
        "of it behind a near-tie",
        "longest that is not",
        "worst event",
    ]
    return table(
        columns,
        [
            [
                r.of.name,
                f"{r.recall:.4f}",
                f"{r.overlap:.4f}",
                f"{r.missed_ns / 1e3:.0f} µs",
                f"{r.near_tie_share:.2f}",
                f"{r.longest_unreported_ns / 1e3:.0f} µs",
                f"{r.worst[0][0][:40]} ({r.worst[0][1] / 1e3:.0f} µs)" if r.worst else "",
            ]
            for r in sorted(misses, key=lambda result: result.least)
        ],
    )
