"""The benchmark's ratios by commit: kept, shown, and compared with those of today."""

from dataclasses import replace
from pathlib import Path

from benchmarks.speed.history import History, Ratios, find_ratios, regressions
from benchmarks.speed.inputs import STORED, Trace, kind_of
from benchmarks.speed.lean import lean_graph

TRACE = Trace("gpt", "10k", Path("gpt_10k.json.gz"))
KEPT = Ratios(first_screen=2.0, whole_way=2.2, all_files=4.0, cpu=3.0)


def test_the_floors_are_decoding_and_a_lean_import() -> None:
    stages = {
        "decode": {"wall_s": 1.0, "cpu_s": 1.0},
        "import_only": {"wall_s": 9.0, "cpu_s": 14.0},
        "whole_way": {"verdict_s": 20.0, "wall_s": 22.0, "cpu_s": 30.0, "server_cpu_s": 15.0},
        "all_files": {"wall_s": 40.0},
    }
    assert find_ratios(stages) == KEPT


def test_what_was_kept_last_of_a_trace_counts(tmp_path: Path) -> None:
    file = tmp_path / "speed.jsonl"
    history = History(file)
    assert history.latest(TRACE) is None
    history.keep("aaa", TRACE, replace(KEPT, cpu=9.0))
    history.keep("aaa", replace(TRACE, size="1M"), replace(KEPT, cpu=5.0))
    history.keep("bbb", TRACE, KEPT)
    again = History(file)
    assert again.latest(TRACE) == KEPT
    lines = again.describe().splitlines()
    assert [line.split(" | ")[:2] for line in lines[2:]] == [
        ["| `bbb`", "gpt 10k"],
        ["| `aaa`", "gpt 1M"],
        ["| `aaa`", "gpt 10k"],
    ]


def test_only_more_than_15_percent_is_a_regression(tmp_path: Path) -> None:
    history = History(tmp_path / "speed.jsonl")
    assert not list(regressions([(TRACE, KEPT)], history))  # nothing was kept
    history.keep("aaa", TRACE, KEPT)
    assert not list(regressions([(TRACE, replace(KEPT, cpu=3.4, all_files=1.0))], history))
    said = list(regressions([(TRACE, replace(KEPT, first_screen=2.4))], history))
    assert said == ["gpt 10k: first screen takes 2.40 times the floors, 20% more than the 2.00 kept last"]


def test_a_lean_graph_has_ten_properties_a_node_and_four_a_relationship() -> None:
    graph = lean_graph(100, 180)
    assert (graph.count_nodes(), graph.count_relationships()["SEQUENTIAL"]) == (100, 180)
    nodes, relationships = graph.nodes["Event"], graph.relationships["SEQUENTIAL"]
    assert len(set(nodes.column_names) - {"id", "labels"}) == 10
    assert len(set(relationships.column_names) - {"start", "end"}) == 4
    assert set(relationships["end"].to_pylist()) <= set(nodes["id"].to_pylist())


def test_each_kind_of_trace_has_a_floor() -> None:
    assert {kind_of(Path("gpt_1M.json.gz")), kind_of(Path("simulated_1M_rank0.json.gz"))} == set(STORED)
