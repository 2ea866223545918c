"""Marked steps of several ranks: one numbering, whoever reads the files, and a run that says its marker."""

from pathlib import Path

import pytest
from rank_parts import read_part
from tiny import Row, event
from tiny_job import rows_of_rank, write_trace

from tracegraph.base.errors import InputError
from tracegraph.base.progress import silent
from tracegraph.ingest.options import IngestOptions
from tracegraph.ingest.pipeline import ingest_run, run_name
from tracegraph.ingest.ranks.reading import open_workers
from tracegraph.ingest.ranks.worker import Task
from tracegraph.ingest.sources.source import Source
from tracegraph.store.tables import GraphTables

MARKED = IngestOptions(step_marker="s *")


def marks(*names: str) -> list[Row]:
    """Annotations one after the other, each of 100 µs, a forward pass in each."""
    rows: list[Row] = []
    for place, name in enumerate(names):
        begin = 100 * place
        rows.append(event(name, begin, begin + 90, category="user_annotation"))
        rows.append(event("forward", begin + 10, begin + 20, category="user_annotation"))
    return rows


def job(folder: Path, *ranks: list[Row]) -> list[Path]:
    return [
        write_trace(folder / f"rank{rank}.json", [*rows_of_rank(60), *rows], rank)
        for rank, rows in enumerate(ranks)
    ]


def steps_of(tables: GraphTables) -> list[tuple[int, int, str]]:
    rows = tables.nodes["Step"].to_pylist()
    return [(row["rank"], row["number"], row["name"]) for row in rows]


def test_all_ranks_are_numbered_by_one_rule(tmp_path: Path) -> None:
    by_name = job(tmp_path, marks("s 4", "s 5"), marks("s 5", "s 6"))
    tables, manifest = ingest_run(by_name, None, silent, MARKED)
    assert steps_of(tables) == [(0, 4, "s 4"), (0, 5, "s 5"), (1, 5, "s 5"), (1, 6, "s 6")]
    assert manifest["step_marker"] == "s *"
    assert tables.nodes["Run"]["step_marker"].to_pylist() == ["s *"]
    assert set(tables.nodes["Step"]["marker"].to_pylist()) == {"s *"}


def test_by_their_place_where_one_rank_cannot_be_numbered_by_names(tmp_path: Path) -> None:
    files = job(tmp_path, marks("s 4", "s 5"), marks("s 7", "s 7"))
    tables, _ = ingest_run(files, None, silent, MARKED)
    assert [row[:2] for row in steps_of(tables)] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    events = tables.nodes["Event"].to_pylist()
    numbers = {(row["rank"], row["name"]): row["step"] for row in events if row["name"].startswith("s ")}
    assert (numbers[0, "s 4"], numbers[0, "s 5"]) == (0, 1)
    phases = tables.nodes["Phase"].to_pylist()
    assert [(row["rank"], row["step"]) for row in phases] == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_a_rank_without_such_annotations_has_no_steps(tmp_path: Path) -> None:
    files = job(tmp_path, marks("s 4", "s 5"), marks())
    assert {row[0] for row in steps_of(ingest_run(files, None, silent, MARKED)[0])} == {0}
    with pytest.raises(InputError, match=r"'t \*' says; annotations that repeat, .* 's \*' \(2\)"):
        ingest_run(files, None, silent, IngestOptions(step_marker="t *"))


def test_a_process_marks_the_same_steps(tmp_path: Path) -> None:
    (path, _) = job(tmp_path, marks("s 4", "s 5"), marks())
    with open_workers(1) as workers:
        found = workers.do(Task(Source(str(path)), IngestOptions(step_marker="s *", compared=False)))
    assert not isinstance(found, Exception)
    here = read_part(path, IngestOptions(step_marker="s *"))
    (found,) = found
    assert found.scene.steps.number.tolist() == here.scene.steps.number.tolist() == [4, 5]
    assert found.scene.phases.step.tolist() == here.scene.phases.step.tolist()


def test_the_default_name_says_the_marker() -> None:
    names = {
        marker: run_name([Path("a.json")], "0" * 64, step_marker=marker) for marker in ("s *", "s?*", "*")
    }
    assert len({*names.values(), run_name([Path("a.json")], "0" * 64)}) == 4
    assert names["s *"].startswith("a-00000000-s-")
    assert run_name([Path("a.json")], "0" * 64) == "a-00000000"
