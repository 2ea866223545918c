"""What files state of GPU work: the operator that it belongs to, its arithmetic, and its device."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.events.event_arrays import count_elements
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.measures.measures import stored_measures
from tracegraph.ingest.text_columns import TextColumn, read_texts
from tracegraph.store.tables import GraphTables

_SIZES = ("elements", "bytes", "group_size")
FACT_COLUMNS = ("category", "shapes", *_SIZES, "work", "flops", "moved_bytes", "dtype", "kernel_type")
"""What is used of what files state."""


@dataclass(frozen=True)
class WorkFacts:
    """Facts of each event, one entry each.

    Attributes
    ----------
    operator
        The event whose work a GPU activity is, -1 for none.
    kernel_type
        The type of GPU work by the run's own vocabulary; empty for other events.
    kind, dtype
        What an operator computes, and in which element type; empty if it is not known.
    flops, moved_bytes
        How much, `NONE` if it is not known.
    elements
        How many elements each rank gives to a collective, `NONE` if it is not known.
    bytes, group_size
        All data of a collective, and how many ranks take part in it, `NONE` if it is not known.
    shapes
        Shapes of inputs as written.
    devices
        Names of the devices of each rank, by their index.
    """

    operator: Ints
    kernel_type: TextColumn
    kind: TextColumn
    dtype: TextColumn
    flops: Ints
    moved_bytes: Ints
    elements: Ints
    bytes: Ints
    group_size: Ints
    shapes: TextColumn
    devices: dict[int, list[str]]


def state_facts(stated: pa.Table, operator: Ints, devices: Sequence[tuple[int, list[str]]]) -> WorkFacts:
    """Collect the facts from a table with the columns that `with_work` and `with_kernel_types` add."""
    return WorkFacts(
        operator=operator,
        kernel_type=_texts(stated["kernel_type"]),
        kind=_texts(stated["work"]),
        dtype=_texts(stated["dtype"]),
        flops=_numbers(stated["flops"]),
        moved_bytes=_numbers(stated["moved_bytes"]),
        elements=count_elements(stated, _texts(stated["category"])),
        bytes=_numbers(stated["bytes"]),
        group_size=_numbers(stated["group_size"]),
        shapes=_texts(stated["shapes"]),
        devices=dict(devices),
    )


def read_facts(tables: GraphTables) -> WorkFacts:
    """Read the facts of a stored run."""
    files = tables.nodes["Trace"].to_pylist()
    devices = [(int(row["rank"]), json.loads(row["devices"])) for row in files]
    return state_facts(tables.read_nodes("Event", FACT_COLUMNS), stored_measures(tables).operator, devices)


def _texts(column: pa.ChunkedArray) -> TextColumn:
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    return read_texts(encoded)


def _numbers(column: pa.ChunkedArray) -> Ints:
    values: Ints = column.fill_null(NONE).to_numpy().astype(np.int64)
    return values
