"""A small run whose names try to break every text format on the way into the database."""

import pyarrow as pa

from tracegraph.store.schema.schema import NODES, RELATIONSHIPS
from tracegraph.store.tables import GraphTables, arrow_type

NAMES = [
    "plain",
    "",
    " spaces ",
    'quote " and "" two',
    "single ' quote",
    "back\\slash \\n \\",
    "comma, semicolon; tab\t",
    "line\nbreak\r\nand return\r",
    "nul \x00 and bell \x07",
    "right to left \u202e txt.exe",
    "emoji 🙂 combining e\u0301 \u2028",
    "=HYPERLINK(0)",
    "<script>alert(1)</script>",
    "`}) DETACH DELETE n //",
    "$name {name: 1}",
    "[bold]markup[/bold] \x1b[31m",
    "null",
    "true",
    "12",
    "NaN",
    "x" * 3_000_000,
]
TIMES = [0, 1, -1, 2**53 + 1, 2**63 - 1, -(2**63)]


def hostile_graph(run: str, names: list[str] = NAMES) -> GraphTables:
    """A run with one event a name, every second one a segment, and one relationship of each kind."""
    events = [
        {
            "labels": "Event;CpuOp;Segment" if i % 2 else "Event;Other",
            "run": run,
            "rank": 0,
            "lane": 0,
            "source_index": i,
            "name": name,
            "category": "cpu_op",
            "start_ns": TIMES[i % len(TIMES)],
            "shapes": name if i % 3 else None,
            "chain": i if i % 2 else None,
            "on_critical_path": i % 4 == 1 if i % 2 else None,
        }
        for i, name in enumerate(names)
    ]
    rows = {
        "Run": [
            {"labels": "Run", "name": run, "state": "ready", "created": "2026-01-01T00:00:00Z", "ranks": 1}
        ],
        "Trace": [{"labels": "Trace", "run": run, "rank": 0, "file": names[3], "sha256": "00"}],
        "Lane": [{"labels": "Lane", "run": run, "lane": 0, "name": names[-2], "matters": False}],
        "Event": events,
        "Chain": [{"labels": "Chain", "run": run, "chain": i, "lane": 0} for i in range(3)],
        "Frame": [{"labels": "Frame", "run": run, "frame": i, "name": names[i], "lane": 0} for i in range(2)],
        "Collective": [
            {"labels": "Collective", "run": run, "operation": i, "name": names[i], "group": names[i + 1]}
            for i in range(2)
        ],
        "Counter": [
            {"labels": "Counter", "run": run, "rank": 0, "source_index": i, "range": names[i], "value": 1e300}
            for i in range(2)
        ],
        "Allocation": [
            {
                "labels": "Allocation",
                "run": run,
                "source_index": i,
                "at_ns": TIMES[i],
                "device_type": names[i],
            }
            for i in range(2)
        ],
    }
    nodes, first = {}, {}
    count = 0
    for label, entries in rows.items():
        first[label] = count
        nodes[label] = _table(label, entries, count)
        count += len(entries)
    return GraphTables(run, nodes, _relationships(first, names))


def _table(label: str, entries: list[dict[str, object]], first: int) -> pa.Table:
    own_last = sorted(NODES, key=lambda kind: kind.label == label)  # a name may be another label's, too
    types = {prop.name: arrow_type(prop.type) for kind in own_last for prop in kind.properties}
    columns = {"id": pa.array(range(first, first + len(entries)), pa.int64())}
    labels = [entry["labels"] for entry in entries]
    columns["labels"] = pa.array(labels, pa.string()).dictionary_encode()
    for name in entries[0]:
        if name != "labels":
            columns[name] = pa.array([entry[name] for entry in entries], types[name])
    return pa.table(columns)


def _relationships(first: dict[str, int], names: list[str]) -> dict[str, pa.Table]:
    ends = {"Segment": "Event"}
    tables = {}
    for kind in RELATIONSHIPS:
        start, end = first[ends.get(kind.start, kind.start)], first[ends.get(kind.end, kind.end)]
        values: dict[str, object] = {
            "mechanism": names[5],
            "confidence": 0.1,
            "lag_ns": 2**53 + 1,
            "binding": True,
            "at_ns": -1,
            "dependency": "",
        }
        columns = {"start": pa.array([start, start], pa.int64()), "end": pa.array([end, end], pa.int64())}
        for prop in kind.properties:
            columns[prop.name] = pa.array([values.get(prop.name), None], arrow_type(prop.type))
        tables[kind.type] = pa.table(columns)
    return tables
