"""Batches of a load: every value once where it is shared, and the same rows again when put together."""

import pyarrow as pa
import pytest

from tracegraph.store.load import bolt as module
from tracegraph.store.load.bolt import batches

TABLE = pa.table(
    {
        "id": [0, 1, 2, 3, 4],
        "run": pa.array(["r"] * 5).dictionary_encode(),
        "rank": [7] * 5,
        "step": [1, None, 1, 1, 1],
        "name": pa.chunked_array(
            [pa.array(["a", "b"]).dictionary_encode(), pa.array(["b", "", None]).dictionary_encode()]
        ),
        "dtype": pa.array(["", None, "x", "x", "y"]),
        "bytes": pa.array([None] * 5, pa.int64()),
    }
)


def rows_of(parameters: dict[str, object], expressions: dict[str, str]) -> list[dict[str, object]]:
    """What the server reads: each expression, with `$` and null as Cypher has them."""
    scope = {name: Lists(value) for name, value in parameters.items() if isinstance(value, dict)}
    texts = {name: text.replace("$", "") for name, text in expressions.items()}
    last = parameters["last"]
    assert isinstance(last, int)
    return [{name: eval(text, {**scope, "i": i}) for name, text in texts.items()} for i in range(last + 1)]


class Lists:
    """A map of Cypher, whose lists give null at null."""

    def __init__(self, entries: dict[str, object]) -> None:
        for name, value in entries.items():
            setattr(self, name, List(value) if isinstance(value, list) else value)


class List(list[object]):
    def __getitem__(self, position: object) -> object:
        return None if position is None else super().__getitem__(position)  # type: ignore[call-overload]


@pytest.mark.parametrize("size", [5, 2, 1])
def test_the_rows_arrive_as_they_are(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BATCH_ROWS", size)
    parts = list(batches("Event", TABLE, ["id"]))
    assert [key for part in parts for key in part.keys["id"].to_pylist()] == [0, 1, 2, 3, 4]
    rows = [row for part in parts for row in rows_of(part.parameters(), part.expressions())]
    expected = TABLE.drop_columns(["id", "bytes"]).to_pylist()
    assert [dict(sorted(row.items())) for row in rows] == [dict(sorted(row.items())) for row in expected]
    # One text of a query for all batches of a kind: the server plans it once.
    assert len({str(part.expressions()) for part in parts}) == 1


def test_what_rows_share_travels_once() -> None:
    [part] = batches("Event", TABLE, ["id"])
    assert part.same == {"run": "r", "rank": 7}
    assert part.parameters()["texts"] == {"name": ["a", "b", ""], "dtype": ["", "x", "y"]}
