"""HTA's tables of GPU time, queues and bandwidth beside ours, on the traces of which its numbers are known.

Equal as far as HTA prints, or in the table of differences with a rule that explains all of it.
"""

from collections.abc import Iterator

import pandas as pd
import pytest
from hta import EXPECTED, FILES, HtaRuns, expected, files_of
from hta_compare import VARIANTS, best_variant, clocks_of, computed, explained, ids_of_variant
from hta_differences import DIFFERENCES, EVERY, Difference, ids_of
from hta_evidence import SEEN
from hta_oracle import FEATURES
from hta_rows import raw_rows
from hta_tables import difference, ours, theirs

EXACT = {"span_ns", "busy_ns", "idle_ns", "compute_ns", "memory_ns", "communication_ns"}


def of_features(trace: str) -> Iterator[tuple[str, str]]:
    """Features of which HTA has a table, and its best variant of it."""
    for feature in FEATURES:
        variant = best_variant(trace, feature)
        if variant is not None:
            yield feature, variant


@pytest.mark.parametrize("trace", FILES)
def test_our_numbers_are_those_of_the_rows_of_the_files(trace: str, hta_runs: HtaRuns) -> None:
    clocks = clocks_of(hta_runs, trace)
    found = {name: (computed(trace, name, (), clocks), ours(hta_runs, trace, name)) for name in FEATURES}
    assert {name: apart for name, pair in found.items() if (apart := difference(name, *pair))} == {}


@pytest.mark.parametrize("trace", FILES)
def test_our_numbers_are_htas_but_for_what_is_listed(trace: str, hta_runs: HtaRuns) -> None:
    differs, listed = set(), set()
    for feature, variant in of_features(trace):
        table = theirs(trace, feature, variant)
        assert table is not None
        by_variant = ids_of_variant(trace, variant)
        differs |= {feature} if difference(feature, table, ours(hta_runs, trace, feature)) else set()
        listed |= {feature} if ids_of(feature, trace) | by_variant else set()
    assert differs == listed


@pytest.mark.parametrize("trace", FILES)
def test_the_rules_listed_explain_htas_numbers(trace: str, hta_runs: HtaRuns) -> None:
    clocks = clocks_of(hta_runs, trace)
    unexplained = {
        (feature, variant): apart
        for feature in FEATURES
        for variant in VARIANTS
        if theirs(trace, feature, variant) is not None
        and (apart := explained(trace, feature, variant, all_ids(trace, feature, variant), clocks))
    }
    assert unexplained == {}


def all_ids(trace: str, feature: str, variant: str) -> set[str]:
    """The rules that are listed, and those that the variant stands for."""
    return ids_of(feature, trace) | ids_of_variant(trace, variant)


@pytest.mark.parametrize("trace", FILES)
def test_without_any_rule_that_is_listed_they_are_not_explained(trace: str, hta_runs: HtaRuns) -> None:
    clocks = clocks_of(hta_runs, trace)
    needless = {
        (feature, one)
        for feature, variant in of_features(trace)
        for one in ids_of(feature, trace) - ids_of_variant(trace, variant)
        if not explained(trace, feature, variant, all_ids(trace, feature, variant) - {one}, clocks)
    }
    assert needless == set()


@pytest.mark.parametrize("trace", FILES)
def test_rounding_and_step_cut_are_listed_where_they_are(trace: str, hta_runs: HtaRuns) -> None:
    listed = {one.id for one in DIFFERENCES if trace in one.where.get(EVERY, "").split()}
    assert listed == ids_of_variant(trace, "") & {"W1", "S1"}


@pytest.mark.parametrize("one", [one for one in DIFFERENCES if one.id in SEEN], ids=lambda one: one.id)
def test_the_evidence_is_in_the_files(one: Difference, hta_runs: HtaRuns) -> None:
    counted = {trace: sum(SEEN[one.id](raw_rows(path)) for path in files_of(trace)) for trace in one.seen}
    assert counted == dict(one.seen)
    assert all(counted.values())


@pytest.mark.parametrize("trace", FILES)
def test_gpu_time_is_that_of_the_digits_in_the_file(trace: str, hta_runs: HtaRuns) -> None:
    exact = (
        expected(trace, "exact_gpu_time").set_index("rank").rename(columns={"comm_ns": "communication_ns"})
    )
    found = hta_runs.rows("temporal_breakdown", trace).set_index("rank")
    if "span_ns" not in exact:  # k1 has no GPU rows
        assert found.empty
        return
    moved = {rank for rank, clock in zip(exact.index, clocks_of(hta_runs, trace), strict=True) if clock[1]}
    same = exact.drop(index=moved)
    assert {name: (same[name] - found[name].reindex(same.index)).tolist() for name in EXACT} == {
        name: [0] * len(same) for name in EXACT
    }
    drift = (exact.loc[sorted(moved), sorted(EXACT)] / found.loc[sorted(moved), sorted(EXACT)] - 1).abs()
    assert (drift < 3e-5).all(axis=None)


FAILURES = {("h1_h100", "temporal_breakdown"): "temporal_breakdown"} | {
    ("k1", name): query
    for name, query in {
        "temporal_breakdown": "temporal_breakdown",
        "idle_time_breakdown": "idle_time_breakdown",
        "queue_length": "queue_length",
        "memory_bw": "memory_bandwidth",
    }.items()
}
"""Where HTA fails on a file, and our query."""


def test_where_hta_fails_ours_answers(hta_runs: HtaRuns) -> None:
    rows = pd.read_csv(EXPECTED / "failures.tsv", sep="\t")
    known = {name for _, name in FAILURES}
    assert {pair for pair in zip(rows["trace"], rows["feature"], strict=True) if pair[1] in known} == set(
        FAILURES
    )
    for (trace, _), query in FAILURES.items():
        assert hta_runs.rows(query, trace).empty == (trace == "k1")  # which has no GPU work
