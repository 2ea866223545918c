"""The truth of confidence: every binding edge, on the path or not, against the true cause."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd

from benchmarks.accuracy.bindings import judge_bindings
from benchmarks.accuracy.goals import ALONE, REGIMES, TOGETHER
from benchmarks.accuracy.markdown import table
from benchmarks.accuracy.paths import read_model
from benchmarks.accuracy.sets import (
    JITTER,
    RARE_HAND_OVERS,
    SCENARIOS,
    VARIANTS,
    Oracle,
    OracleSet,
    read_json,
)
from benchmarks.accuracy.verdict import in_processes
from tracegraph.vocabulary.evidence import EVIDENCE
from tracegraph.vocabulary.mechanisms import MECHANISMS

FEWEST = 30
"""With fewer edges than this a share says nothing."""
TOO_SURE = 0.02
"""The most by which confidence may exceed the share of edges that are right."""
_BINS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99, 1.0)
"""Limits between the bins of confidence in the table."""
_SUMS = ["edges", "confidence", "right", "left_out"]


def halves(oracle: Oracle, seeds: Sequence[int], events: int) -> dict[str, list[OracleSet]]:
    """Return the sets on which confidence is judged, by a description of them."""
    kinder, harder = [*SCENARIOS, *RARE_HAND_OVERS], list(ALONE)
    damaged = oracle.matrix(REGIMES, [()], seeds, events)
    return {
        "The kinder scenarios and more hand-overs, random lags, no cuda_sync rows": oracle.matrix(
            kinder, [VARIANTS[-1]], seeds, events
        ),
        "The harder simulations, constant and random lags": [
            *oracle.matrix(harder, [(), (JITTER,)], seeds, events),
            *oracle.matrix(list(TOGETHER), [(JITTER,)], seeds, events),
        ],
        "Kernels that overlap (overlap20)": [one.damaged("overlap20") for one in damaged],
    }


@dataclass(frozen=True)
class _Judge:
    """The work of a process on one set."""

    oracle: Oracle

    def __call__(self, one: OracleSet) -> pd.DataFrame:
        with self.oracle.made(one):
            return judge(one)


def judge_all(oracle: Oracle, sets: Sequence[OracleSet], processes: int) -> Iterator[pd.DataFrame]:
    """Yield the sums of every set."""
    return in_processes(_Judge(oracle), sets, processes)


def judge(one: OracleSet) -> pd.DataFrame:
    """Sum up the binding edges of one set by mechanism, evidence and bin of confidence.

    The other columns are edges, confidence and right (sums over the edges), and left_out (edges without a
    counterpart).
    """
    model, _ = read_model(one.trace)
    judged, found = judge_bindings(model, read_json(one.truth)), model.dependencies
    confidence = found.confidence[judged.edge]
    rows = pd.DataFrame(
        {
            "mechanism": found.mechanism[judged.edge],
            "evidence": (~found.recorded[judged.edge]).astype(int),
            "bin": np.searchsorted(_BINS[1:-1], confidence, "left"),
            "edges": 1,
            "confidence": confidence,
            "right": judged.right,
            "left_out": 0,
        }
    )
    sums = rows.groupby(["mechanism", "evidence", "bin"], as_index=False)[_SUMS].sum()
    sums.loc[:0, "left_out"] = judged.left_out
    return sums


def describe_calibration(parts: Mapping[str, pd.DataFrame]) -> str:
    """Write the Markdown: for each half confidence against the share that is right, by bin and mechanism."""
    return "\n\n".join(f"**{name}**\n\n{_describe(sums)}" for name, sums in parts.items())


def _describe(sums: pd.DataFrame) -> str:
    total, left_out = int(sums["edges"].sum()), int(sums["left_out"].sum())
    by_bin = sums.groupby("bin")[_SUMS].sum().reindex(range(len(_BINS) - 1), fill_value=0)
    bins = [
        [f"{low:.2f} to {high:.2f}", *_figures(row)]
        for (low, high), (_, row) in zip(pairwise(_BINS), by_bin.iterrows(), strict=True)
    ]
    names = [mechanism.name for mechanism in MECHANISMS]
    by_rule = sums.groupby(["mechanism", "evidence"], as_index=False)[_SUMS].sum()
    rules = sorted(
        [names[int(row["mechanism"])], EVIDENCE[int(row["evidence"])], *_figures(row)]
        for _, row in by_rule.iterrows()
    )
    figures = ["edges", "mean confidence", "share right", "says too much"]
    sentence = f"{total:,} binding edges; {left_out:,} more have no counterpart in the truth."
    return "\n\n".join(
        [
            sentence,
            table(["confidence", *figures], bins),
            table(["mechanism", "evidence", *figures], rules),
        ]
    )


def _figures(sums: "pd.Series[float]") -> list[str]:
    edges = int(sums["edges"])
    if not edges:
        return ["0", "", "", ""]
    confidence, right = sums["confidence"] / edges, sums["right"] / edges
    if edges < FEWEST:
        return [str(edges), f"{confidence:.3f}", "too few", ""]
    beyond = confidence - right
    return [str(edges), f"{confidence:.3f}", f"{right:.3f}", f"+{beyond:.3f}" if beyond > TOO_SURE else ""]
