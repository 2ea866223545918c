"""How much of a database is dead, and when that is worth a new one."""

from pathlib import Path

import pytest

from tracegraph.store.compacting import Space
from tracegraph.store.managed.rebuild.offline_import import _trim

MIB = 1 << 20


@pytest.mark.parametrize(
    ("total", "live", "expected"),
    [(100 * MIB, 0.5, False), (100 * MIB, 0.4, True), (100 * MIB, 0.9, False), (40 * MIB, 0.4, False)],
)
def test_most_of_it_is_dead(total: int, live: float, expected: bool) -> None:
    assert Space(total, live).is_mostly_dead == expected


@pytest.mark.parametrize(("text", "zeros", "left"), [(100, 10 * MIB, 128 << 10), (100, 0, 100), (0, 10, 10)])
def test_zeros_at_the_end_of_a_log_are_given_back(tmp_path: Path, text: int, zeros: int, left: int) -> None:
    log = tmp_path / "neostore.transaction.db.0"
    log.write_bytes(b"x" * text + bytes(zeros))
    _trim(tmp_path)
    assert log.read_bytes() == (b"x" * text + bytes(zeros))[:left]
