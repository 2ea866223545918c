"""A lean graph, whose import is the floor of storing: few properties, as many rows as an early version had.

The floor stays what it is when the graph of tracegraph shrinks or grows, so ratios of different versions
can be compared.
"""

import numpy as np
import pyarrow as pa

from tracegraph.store.tables import GraphTables

_NAMES = 1_000
"""Different names of events, as in a trace of a training run."""
_LANES = 12


def lean_graph(nodes: int, relationships: int) -> GraphTables:
    """Make a graph with ten properties a node and four a relationship.

    Parameters
    ----------
    nodes, relationships
        How many of each. Most relationships lead from a node to the next one, as in a trace.
    """
    return GraphTables("lean", {"Event": _nodes(nodes)}, {"SEQUENTIAL": _relationships(nodes, relationships)})


def _nodes(count: int) -> pa.Table:
    at = np.arange(count, dtype=np.int64)
    start = 1_700_000_000_000_000_000 + 1_500 * at
    lasts = 400 + at * 7919 % 1_000
    return pa.table(
        {
            "id": at,
            "labels": _texts(np.zeros(count, dtype=np.int32), ["Event"]),
            "run": _texts(np.zeros(count, dtype=np.int32), ["lean"]),
            "rank": np.zeros(count, dtype=np.int64),
            "lane": at % _LANES,
            "name": _texts(at * 31 % _NAMES, [f"aten::operator_of_layer_{one}" for one in range(_NAMES)]),
            "category": _texts(at % 3, ["cpu_op", "kernel", "cuda_runtime"]),
            "start_ns": start,
            "end_ns": start + lasts,
            "duration_ns": lasts,
            "self_ns": lasts // 2,
            "source_index": at,
        }
    )


def _relationships(nodes: int, count: int) -> pa.Table:
    at = np.arange(count, dtype=np.int64)
    start = at % (nodes - 1)
    return pa.table(
        {
            "start": start,
            "end": start + 1,
            "lag_ns": at * 7919 % 1_000,
            "gap_ns": at * 7907 % 1_000,
            "binding": at < nodes,
            "mechanism": _texts(at % 2, ["program order", "stream order"]),
        }
    )


def _texts(codes: np.ndarray, values: list[str]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(values))
