"""Latency and bandwidth: known lines, independent sums, refusals, predictions that return to the fit."""

from collections.abc import Callable, Sequence
from math import ceil, log2
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from module_rows import rows_of

from tracegraph.base.least_squares import fit_line
from tracegraph.ingest.companions.registry import open_companion, read_companions
from tracegraph.queries.catalog import find
from tracegraph.queries.module import in_types
from tracegraph.queries.shapes.transfers.fit import transfer_fit
from tracegraph.queries.shapes.transfers.nccl_advice import nccl_advice
from tracegraph.queries.shapes.transfers.predictions import Link, transfer_predictions

Sizes = Sequence[tuple[int, int]]
RING = {"algorithm": "ring", "protocol": "simple"}
ranks = st.integers(2, 512)
alphas = st.floats(1e3, 1e6)
rates = st.floats(1e8, 1e12)


def measured(sizes: Sizes, kind: str = "all_reduce", ranks: int | None = 4) -> list[dict[str, Any]]:
    """Rows of NCCL's tests: pairs of B and ns."""
    same = {"source": "nccl-tests", "kind": kind, "ranks": ranks, "nodes": 1, "in_place": False}
    return [{**same, "bytes": size, "time_ns": took} for size, took in sizes]


def answer(query: str, stated: list[dict[str, Any]], *trace: dict[str, Any], **values: Any) -> pd.DataFrame:
    shapes = {"transfer_fit": transfer_fit, "transfer_predictions": transfer_predictions}
    frames = (rows_of("transfers", *trace), rows_of("traces"), rows_of("stated_transfers", *stated))
    return in_types(shapes[query](values, *frames), find(query).columns)


@given(alphas, rates, st.integers(4, 12))
def test_times_on_a_line_give_that_line(alpha: float, rate: float, count: int) -> None:
    sizes = 4.0 ** np.arange(5, 5 + count)
    line = fit_line(sizes, alpha + sizes / rate * 1e9)
    assert line is not None
    assert line.bytes_per_s == pytest.approx(rate, rel=1e-6)
    assert line.alpha_ns == pytest.approx(alpha, rel=1e-5)
    assert line.largest_error < 1e-6


@given(st.lists(st.floats(0.9, 1.1), min_size=6, max_size=6))
def test_no_other_line_has_smaller_relative_errors(noise: list[float]) -> None:
    sizes = 4.0 ** np.arange(6, 12)
    times = (5e4 + sizes / 0.2) * noise
    line = fit_line(sizes, times)
    assert line is not None

    def loss(alpha: float, slope: float) -> float:
        return float(np.sum(((alpha + slope * sizes) / times - 1) ** 2))

    best = loss(line.alpha_ns, line.slope_ns)
    for alpha, slope in ((1.001, 1), (0.999, 1), (1, 1.001), (1, 0.999)):
        assert loss(line.alpha_ns * alpha, line.slope_ns * slope) >= best


@given(ranks, alphas, rates)
def test_a_ring_is_taken_apart_and_put_together(ranks: int, alpha: float, rate: float) -> None:
    link = Link.of_ring(ranks, alpha, rate)
    for size in (1.0, 1e6, 1e10):
        assert link.ring(size) == pytest.approx(alpha + size / rate * 1e9)
        assert 2 * link.once_round(size) == pytest.approx(link.ring(size))


@given(ranks, alphas, rates)
def test_at_the_break_even_ring_and_tree_take_the_same_time(ranks: int, alpha: float, rate: float) -> None:
    link = Link.of_ring(ranks, alpha, rate)
    assume(ranks - 1 > ceil(log2(ranks)))
    assert link.ring(link.break_even) == pytest.approx(link.tree(link.break_even))
    assert link.ring(link.break_even * 2) < link.tree(link.break_even * 2)


@settings(max_examples=5)
@given(alphas, st.floats(1e8, 1e11))
def test_what_is_fitted_is_predicted_again(alpha: float, rate: float) -> None:
    sizes = [4**power for power in range(5, 14)]
    times = [(size, round(alpha + size / rate * 1e9)) for size in sizes]
    rows = answer("transfer_predictions", measured(times), bytes=None)
    own = rows[rows["kind"].eq("all_reduce") & rows["algorithm"].eq("ring")]
    assert own["error"].abs().max() < 0.002  # times are whole ns
    assert own["is_within"].all()
    assert rows.loc[rows["measured_ns"].isna(), "error"].isna().all()
    other = answer("transfer_predictions", measured(times), bytes=10 * sizes[-1])
    assert not other["is_within"].any()


@pytest.mark.parametrize(
    ("sizes", "reason"),
    [
        ([(1024, 50_000)], "One size cannot tell"),
        ([(1024 * k, 50_000 + k) for k in (1, 2, 100)], "3 sizes cannot tell"),
        ([(1024 * k, 50_000 + k) for k in (1, 2, 3, 15)], "has to be 16-fold"),
        ([(1024 * k, 50_000 - k) for k in (1, 2, 3, 16)], "do not grow with the size"),
    ],
)
def test_without_a_fit_it_is_said_why_and_how_to_measure(sizes: Sizes, reason: str) -> None:
    row = answer("transfer_fit", measured(sizes)).iloc[0]
    assert pd.isna(row["bytes_per_s"])
    assert reason in row["lacks"]
    assert "all_reduce_perf -b 8 -e 1G -f 2 -g 4" in row["lacks"]
    assert answer("transfer_predictions", measured(sizes), bytes=None).empty


def test_a_latency_that_large_sizes_hide_is_not_known() -> None:
    sizes = [(2**power, round(1e4 + 2**power)) for power in range(26, 32)]
    row = answer("transfer_fit", measured(sizes)).iloc[0]
    assert not row["is_alpha_known"]
    assert "do not determine the latency" in row["lacks"]
    rows = answer("transfer_predictions", measured(sizes), bytes=None)
    assert rows["break_even_bytes"].isna().all()


def test_one_rank_alone_is_refused_and_all_ranks_are_fitted() -> None:
    trace = [
        {"name": "all_reduce", "size": 2, "ranks": "[0, 1]", "bytes": 4**power, "evidence": "recorded",
         "transfer_ns": [20_000 + 4**power, 90_000 + 4**power, 19_000 + 4**power]}
        for power in range(5, 12)
    ]  # fmt: skip
    alone = answer("transfer_fit", [], *({**row, "rank": 0, "is_whole": False} for row in trace)).iloc[0]
    assert "Waits for ranks that are not here" in alone["lacks"]
    whole = answer("transfer_fit", [], *({**row, "is_whole": True} for row in trace)).iloc[0]
    assert whole["alpha_ns"] == pytest.approx(20_000)
    assert whole["bytes_per_s"] == pytest.approx(1e9)


def test_known_values_of_a_log_of_four_h100(shared_trace: Callable[[str], Path]) -> None:
    told = read_companions([open_companion(shared_trace("g1_nccl_2.29_4gpu_coll.log"))])
    stated = [dict(row) for one in told.values() for row in one.rows["Transfer"]]
    fits = answer("transfer_fit", stated)
    row = fits[~fits["in_place"]].iloc[0]
    assert row["alpha_ns"] / 1e3 == pytest.approx(83.92, abs=0.01)
    assert row["alpha_error_ns"] / 1e3 == pytest.approx(10.66, abs=0.01)
    assert row["bytes_per_s"] / 1e9 == pytest.approx(242.172, abs=0.001)
    assert (row["mean_error"], row["largest_error"]) == pytest.approx((0.00586, 0.00799), abs=1e-5)
    assert (row["algorithm"], row["valid_from"], row["valid_to"]) == ("ring", 2**28, 2**33)
    first = answer("transfer_predictions", stated, bytes=2**33).iloc[0]
    assert first["table_ns"] / 1e3 == pytest.approx(35_820.19, abs=0.01)
    assert (first["measured_ns"], round(first["table_error"], 4)) == (35_294_000, 0.0149)


ADVISED = {"comm_id": "0xa", "ranks": 8, "members": 8, "nodes": 2, "channels": 2, "network": "Socket"}


def advice(communicator: dict[str, Any], *stated: dict[str, Any]) -> list[str]:
    rows = nccl_advice({}, rows_of("communicators", communicator), rows_of("stated_transfers", *stated))
    return list(rows["finding"])


def test_advice_needs_a_reason() -> None:
    assert advice(ADVISED) == ["sockets"]
    assert advice({**ADVISED, "nodes": 1}) == ["few channels"]
    assert advice({**ADVISED, "nodes": 1, "channels": 24}) == []
    assert advice({**ADVISED, "network": "IB"}) == []
    assert advice({**ADVISED, "ranks": 1}) == []


@pytest.mark.parametrize(("size", "found"), [(1_000, []), (10**9, ["slower algorithm"])])
def test_a_choice_is_compared_with_the_table_at_its_own_size(size: int, found: list[str]) -> None:
    table = {"source": "NCCL's table", "comm_id": "0xa", "kind": "all_reduce"}
    ring = {**table, **RING, "latency_ns": 30_000, "bandwidth": 200e9}
    tree = {**table, "algorithm": "tree", "protocol": "ll", "latency_ns": 10_000, "bandwidth": 50e9}
    call = {**table, "source": "NCCL's choices", "algorithm": "tree", "protocol": "ll"}
    quiet = {**ADVISED, "network": "IB"}
    assert advice(quiet, ring, tree, {**call, "bytes": size, "count": 3}) == found
