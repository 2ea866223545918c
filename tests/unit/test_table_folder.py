"""Tables that go to files beside the making of the next ones."""

from pathlib import Path

import pyarrow as pa
import pytest

from tracegraph.base.errors import StoreError
from tracegraph.store.tables import GraphTables, load_graph, new_graph


def _table(number: int) -> pa.Table:
    return pa.table({"id": [number] * 100_000})


def test_tables_set_in_the_block_are_files_at_its_end(tmp_path: Path) -> None:
    graph = new_graph("run", tmp_path)
    with graph.written_beside():
        for number in range(5):
            graph.nodes[str(number)] = _table(number)
            assert graph.nodes[str(number)].equals(_table(number))
    assert len(list(tmp_path.iterdir())) == 5
    (tmp_path / "kept").mkdir()
    graph.save(tmp_path / "kept")
    assert all(load_graph(tmp_path / "kept").nodes[str(number)].equals(_table(number)) for number in range(5))


def test_a_table_that_cannot_be_written_is_told_by_the_end(tmp_path: Path) -> None:
    graph = new_graph("run", tmp_path / "gone")
    with pytest.raises(StoreError, match="cannot write"), graph.written_beside():
        graph.nodes["Event"] = _table(1)


def test_tables_in_memory_need_no_block(tmp_path: Path) -> None:
    graph = GraphTables("run", {}, {})
    with graph.written_beside():
        graph.nodes["Event"] = _table(1)
    assert graph.nodes["Event"].num_rows == 100_000
    assert not list(tmp_path.iterdir())
