"""How far an offline import is, from what it prints."""

from tracegraph.store.managed.rebuild.offline_import import _ImportProgress

PRINTED = """\
Import starting
(1/4) Node import 2026-01-01
.......... .......... .......... .......... ..........  50% ∆1ms [1ms]
.......... .......... .......... .......... .......... 100% ∆1ms [1ms]
(3/4) Relationship linking 2026-01-01
-......... .......... .......... .......... ..........   5% ∆1s 769ms [1s 769ms]
  a name with 99% inside
"""


def test_parts_and_percentages_add_up() -> None:
    told: list[tuple[str, int, int]] = []
    hear = _ImportProgress(lambda *row: told.append(row))
    for line in PRINTED.splitlines(keepends=True):
        hear(line)
    assert told[:4] == [("importing into Neo4j", done, 400) for done in (0, 50, 100, 205)]
