"""Finds the call of GPU work without a correlation id, by the `External id` of their operator."""

import re

import numpy as np
import pandas as pd
import pyarrow as pa

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.text_columns import TextColumn, read_texts, with_role
from tracegraph.vocabulary.categories import GPU_WORK, Role

_LAUNCHING = re.compile(r"launch|enqueue|memcpy|memset", re.IGNORECASE)
_NEAR_NS = 50_000
"""How much earlier than its call work may start: before the clocks of CPU and GPU are put right, they may
disagree by this. Chosen by eye, as much as a launch may lag (`LONG_LAG_NS`): a larger one would join work
with a later call of its id."""


def joined_by_external_id(events: pa.Table) -> Flags:
    """Tell which GPU activities have no correlation id but an `External id`."""
    work = with_role(read_texts(events["category"]), *GPU_WORK)
    has = events["external_id"].fill_null(0).to_numpy() > 0
    correlated = events["correlation"].fill_null(0).to_numpy() > 0
    flags: Flags = work & has & ~correlated
    return flags


def follow_external_ids(events: pa.Table, wanted: Flags) -> Ints:
    """Find for each `wanted` GPU activity the call with its `External id`, -1 for none.

    If no call of the file has ids, the operator with the id stands for it. An id says which operator a row
    belongs to, and an operator may launch more than once. So it identifies a call only if the id has one call
    that can launch, or as many as activities, all of one stream: these are then paired in their order. Ids
    that several processes use say nothing. No table has more rows than the events.
    """
    found = np.full(events.num_rows, -1, dtype=np.int64)
    work = np.flatnonzero(wanted & joined_by_external_id(events))
    if not len(work):
        return found
    category, name = read_texts(events["category"]), read_texts(events["name"])
    ids = events["external_id"].fill_null(0).to_numpy()
    meant = np.isin(ids, ids[work])
    calls = np.flatnonzero(meant & with_role(category, Role.CALL) & _is_launching(name))
    if not len(calls):
        calls = np.flatnonzero(meant & with_role(category, Role.OPERATOR))
    by_id = _ordered(events, ids, calls, "pid")
    by_id = by_id[by_id["places"] == 1]
    works = _ordered(events, ids, work, "tid")
    sole = works.merge(
        by_id[by_id["count"] == 1], on="id", suffixes=("", "_of_cause"), validate="many_to_one"
    )
    several = works[(works["places"] == 1) & (works["count"] > 1)]
    in_order = several.merge(
        by_id[by_id["count"] > 1],
        on=["id", "place", "count"],
        suffixes=("", "_of_cause"),
        validate="one_to_one",
    )
    pairs = pd.concat([sole, in_order])
    early = pairs["start"] < pairs["start_of_cause"] - _NEAR_NS
    pairs = pairs[~early.groupby(pairs["id"]).transform("any")]
    found[pairs["event"].to_numpy(np.int64)] = pairs["event_of_cause"].to_numpy(np.int64)
    return found


def _is_launching(name: TextColumn) -> Flags:
    return name.matching(np.array([bool(_LAUNCHING.search(str(text))) for text in name.values], dtype=bool))


def _ordered(events: pa.Table, ids: Ints, rows: Ints, place: str) -> pd.DataFrame:
    """Sort the rows by id and start, and count for each id its rows and their lanes.

    Added are `count` (rows of the id), `place` (position among these) and `places`: in how many threads or
    streams they are, or in how many processes if the parameter `place` is "pid".
    """
    lane = read_texts(events[place]).codes[rows].astype(np.int64)
    if place == "tid":
        lane = lane << 32 | read_texts(events["pid"]).codes[rows]
    start = events["start_ns"].to_numpy()[rows]
    frame = pd.DataFrame({"event": rows, "id": ids[rows], "start": start, "lane": lane})
    frame = frame.sort_values(["id", "start"], kind="stable")
    groups = frame.groupby("id")
    return frame.assign(
        count=groups["id"].transform("size"),
        place=groups.cumcount(),
        places=groups["lane"].transform("nunique"),
    ).drop(columns="lane")
