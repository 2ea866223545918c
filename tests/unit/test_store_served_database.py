"""The record of the database that serves: taken back whole, refused when damaged; files only."""

from pathlib import Path

import pytest

from tracegraph.base.errors import StoreError
from tracegraph.store.managed.server import served_database
from tracegraph.store.managed.server.served_database import Generation


def test_the_two_names_take_turns(tmp_path: Path) -> None:
    assert served_database.current(tmp_path) == Generation("neo4j", None, changed=False)
    for name, other in (("rebuilt", "neo4j"), ("neo4j", "rebuilt")):
        served_database.commit(tmp_path, Generation(name, "bookmark", changed=True))
        assert served_database.current(tmp_path) == Generation(name, "bookmark", changed=True)
        assert served_database.unserved(tmp_path) == other
    assert [path.name for path in tmp_path.iterdir()] == ["generation.json"]


def test_only_what_nobody_serves_is_removed(tmp_path: Path) -> None:
    for kind in ("databases", "transactions"):
        for name in ("neo4j", "rebuilt", "system"):
            (tmp_path / "data" / kind / name).mkdir(parents=True)
    served_database.commit(tmp_path, Generation("rebuilt"))
    served_database.discard_unserved(tmp_path)
    left = {path.name for path in tmp_path.glob("data/*/*")}
    assert left == {"rebuilt", "system"}


@pytest.mark.parametrize("content", ["", "[]", "{", '{"database": "system"}', '{"unknown": 1}'])
def test_a_damaged_record_is_named(content: str, tmp_path: Path) -> None:
    (tmp_path / "generation.json").write_text(content)
    with pytest.raises(StoreError, match=r"generation\.json is damaged; remove"):
        served_database.current(tmp_path)


def test_a_record_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "generation.json.new").mkdir()
    with pytest.raises(StoreError, match="cannot write"):
        served_database.commit(tmp_path, Generation())
