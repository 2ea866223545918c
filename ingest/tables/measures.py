"""The tables of hardware counters, and of the operators to which GPU activities belong."""

import numpy as np
import pyarrow as pa

from tracegraph.ingest.arrays import Ints
from tracegraph.ingest.causal.graph.solution import Solution
from tracegraph.ingest.measures.hardware_counters import find_meaning
from tracegraph.ingest.measures.measures import Measures
from tracegraph.ingest.tables.columns import Columns, label_column, make_table
from tracegraph.ingest.text_columns import read_texts
from tracegraph.store.schema import node_labels, schema
from tracegraph.vocabulary.evidence import EVIDENCE


def counter_nodes(model: Solution, counters: pa.Table, ids: Ints, common: Columns) -> pa.Table:
    """Make one row for each counter of a range."""
    event = counters["range"].to_numpy()
    name = read_texts(counters["name"])
    meanings = [find_meaning(str(text)) for text in name.values]
    per_name = {
        "flops_each": [None if one is None else one.flops for one in meanings],
        "bytes_each": [None if one is None else one.bytes for one in meanings],
    }
    codes = pa.array(name.codes)
    columns = {
        **common,
        "id": ids,
        "labels": label_column("Counter", len(ids)),
        "rank": model.events.rank[event],
        "source_index": model.events.source_index[event],
        "range": model.events.name.take(event).arrow(),
        "name": name.arrow(),
        "value": counters["value"],
        **{column: pa.array(values, pa.float64()).take(codes) for column, values in per_name.items()},
    }
    return make_table(columns, node_labels.COUNTER.properties, len(ids))


def measured(counters: pa.Table, event_ids: Ints, counter_ids: Ints) -> pa.Table:
    """Make one row for each attributed counter: from it to the event that its range measured."""
    found = np.flatnonzero(counters["measured"].to_numpy() >= 0)
    columns = {
        "start": counter_ids[found],
        "end": event_ids[counters["measured"].to_numpy()[found]],
        "evidence": EVIDENCE[1],
        "confidence": counters["confidence"].to_numpy()[found],
    }
    known = next(kind for kind in schema.RELATIONSHIPS if kind.type == "MEASURED")
    return make_table(columns, known.properties, len(found))


def work_of(measures: Measures, event_ids: Ints) -> pa.Table:
    """Make one row for each GPU activity that an operator launched: from it to the operator."""
    found = np.flatnonzero(measures.operator >= 0)
    return pa.table({"start": event_ids[found], "end": event_ids[measures.operator[found]]})
