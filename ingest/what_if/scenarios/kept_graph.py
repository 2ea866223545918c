"""A run's graph for replays, read back from its stored tables."""

from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tracegraph.base.errors import StoreError
from tracegraph.ingest.arrays import Flags, Ints, Terms, as_terms
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.causal.events.lanes import Lanes
from tracegraph.ingest.causal.events.window import Window
from tracegraph.ingest.causal.graph.binding import find_sink
from tracegraph.ingest.causal.graph.dependencies import Dependencies
from tracegraph.ingest.causal.graph.segments import Segments
from tracegraph.ingest.causal.graph.stack_frames import Frames
from tracegraph.ingest.causal.rules.edges import GAP_OF_MECHANISM
from tracegraph.ingest.causal.steps.phases import Phases
from tracegraph.ingest.data_frames import whole_frame
from tracegraph.ingest.text_columns import TextColumn, read_texts
from tracegraph.ingest.what_if.graph.facts import read_facts
from tracegraph.ingest.what_if.graph.graph import Calls, ReplayGraph, StepWindow
from tracegraph.store.schema import node_labels, schema
from tracegraph.store.tables import GraphTables
from tracegraph.vocabulary.evidence import EVIDENCE
from tracegraph.vocabulary.gaps import GAP_CODE
from tracegraph.vocabulary.mechanisms import CODE
from tracegraph.vocabulary.phases import PHASE_NAMES

_SEGMENT = ("id", "lane", "start_ns", "end_ns", "kind", "work_ns", "frame", "name", "labels")
_EVENT = ("source_index", "category", "step", *_SEGMENT)
_EDGE = ("start", "end", "mechanism", "evidence", "confidence", "lag_ns", "gap_ns", "gap_name", "binding")


def read_graph(tables: GraphTables) -> ReplayGraph:
    """Read the graph of a run as the model had it: events in the file's order, segments by lane and time.

    Raises
    ------
    StoreError
        If an earlier version stored the run, without the frames of its call stacks.
    """
    if "Frame" not in tables.nodes:
        raise StoreError(
            f"the run {tables.run!r} was stored by an earlier version of tracegraph",
            "ingest its trace again",
        )
    events = tables.read_nodes("Event", _EVENT)
    first = int(events["id"][0].as_py()) if len(events) else 0
    calls = _calls(tables, events, first)
    lanes = _lanes(tables)
    segments, place, frame = _segments(tables, events, calls, lanes, first)
    found, gap_name = _dependencies(tables, place)
    run = tables.nodes["Run"]
    window = Window(run["window_start_ns"][0].as_py(), run["window_end_ns"][0].as_py())
    return ReplayGraph(
        calls=calls,
        lanes=lanes,
        segments=segments,
        dependencies=found,
        gap_name=gap_name,
        frames=_frames(tables, frame),
        steps=_steps(tables),
        window=window,
        sink=find_sink(segments, window, lanes),
        rendezvous=_rendezvous(tables, len(calls), first),
        phases=_phases(tables),
        facts=cache(lambda: read_facts(tables)),
    )


def _rendezvous(tables: GraphTables, events: int, first: int) -> Ints:
    found = np.full(events, NONE, dtype=np.int64)
    if "Collective" in tables.nodes:
        operations = tables.read_nodes("Collective", ("id", "rendezvous_ns"))
        since, begin = _numbers(operations["rendezvous_ns"]), int(operations["id"][0].as_py())
        member = tables.read_relationships("MEMBER_OF", ("start", "end"))
        found[_numbers(member["start"]) - first] = since[_numbers(member["end"]) - begin]
    return found


def _lanes(tables: GraphTables) -> Lanes:
    known = tables.nodes["Lane"].drop_columns(["id", "labels", "run", "lane", "longest_ns"])
    return Lanes(whole_frame(known))


def _calls(tables: GraphTables, events: pa.Table, first: int) -> Calls:
    child_of = tables.relationships["CHILD_OF"]
    parent = np.full(len(events), -1, dtype=np.int64)
    parent[_numbers(child_of["start"]) - first] = _numbers(child_of["end"]) - first
    launched = tables.relationships["LAUNCHED"]
    call = np.full(len(events), -1, dtype=np.int64)
    call[_numbers(launched["end"]) - first] = _numbers(launched["start"]) - first
    return Calls(
        source_index=_numbers(events["source_index"]),
        name=read_texts(_encoded(events["name"])),
        category=read_texts(_encoded(events["category"])),
        lane=_numbers(events["lane"]),
        start=_numbers(events["start_ns"]),
        end=_numbers(events["end_ns"]),
        parent=parent,
        step=_numbers(events["step"], NONE),
        call=call,
    )


def _segments(
    tables: GraphTables, events: pa.Table, calls: Calls, lanes: Lanes, first: int
) -> tuple[Segments, Ints, Ints]:
    """Read the segments in their order.

    Returns
    -------
    segments, place, frame
        The place of each node among the segments (-1: not a segment), and the frame of each segment.
    """
    other = tables.read_nodes("Segment", _SEGMENT)
    piece = tables.relationships["PART_OF"]
    merged = np.flatnonzero(_is_valid(events["kind"]))
    whole = events.take(pa.array(merged))
    node, lane, start, end, work, frame = (
        np.concatenate([_numbers(whole[name]), _numbers(other[name])])
        for name in ("id", "lane", "start_ns", "end_ns", "work_ns", "frame")
    )
    nodes = int(node.max(initial=-1)) + 1
    event_of = np.full(max(nodes, first + len(events)), -1, dtype=np.int64)
    event_of[first + merged] = merged
    event_of[_numbers(piece["start"])] = _numbers(piece["end"]) - first
    event = event_of[node]
    kinds, others = read_texts(_encoded(whole["kind"])), read_texts(_encoded(other["kind"]))
    kind = np.concatenate(
        [_coded(kinds, node_labels.SEGMENT_KINDS), _coded(others, node_labels.SEGMENT_KINDS)]
    )
    named = read_texts(_encoded(other["name"]))
    gap = np.concatenate([np.zeros(len(whole), dtype=np.int64), _coded(named, GAP_CODE)])
    on_thread = lanes.is_thread[lane]
    # Segments of a thread that begin and end together, after a change, keep the order of the store.
    order = np.lexsort((np.where(on_thread, -1, event), end, start, lane))
    place = np.full(len(event_of), -1, dtype=np.int64)
    place[node[order]] = np.arange(len(order))
    gpu_first, gpu_last = (np.full(len(calls), -1, dtype=np.int64) for _ in range(2))
    on_gpu = np.flatnonzero((~on_thread & (event >= 0))[order])
    gpu_last[event[order][on_gpu]] = on_gpu
    gpu_first[event[order][on_gpu[::-1]]] = on_gpu[::-1]
    segments = Segments(
        lane=lane[order],
        start=start[order],
        end=end[order],
        event=event[order],
        kind=as_terms(kind[order]),
        gap_name=as_terms(gap[order]),
        work=work[order],
        on_thread=on_thread[order],
        gpu_first=gpu_first,
        gpu_last=gpu_last,
    )
    return segments, place, frame[order]


def _dependencies(tables: GraphTables, place: Ints) -> tuple[Dependencies, Terms]:
    """Read all dependencies in order, and the name of each one's gap; without a gap, its rule's."""
    edges = pa.concat_tables(
        [tables.read_relationships(kind, _EDGE) for kind in schema.DEPENDENCIES],
        promote_options="permissive",
    ).unify_dictionaries()
    mechanism = _coded(read_texts(_encoded(edges["mechanism"])), CODE)
    cause, effect = place[_numbers(edges["start"])], place[_numbers(edges["end"])]
    order = np.lexsort((mechanism, cause, effect))
    recorded = read_texts(_encoded(edges["evidence"])).among(EVIDENCE[0])
    written = _coded(read_texts(_encoded(edges["gap_name"])), GAP_CODE, missing=-1)
    gap_name = np.where(written >= 0, written, GAP_OF_MECHANISM[mechanism])
    found = Dependencies(
        cause=cause[order],
        effect=effect[order],
        mechanism=as_terms(mechanism[order]),
        recorded=recorded[order],
        confidence=edges["confidence"].to_numpy()[order],
        gap=_numbers(edges["gap_ns"])[order],
        lag=_numbers(edges["lag_ns"])[order],
        binding=edges["binding"].to_numpy()[order],
    )
    return found, as_terms(gap_name[order])


def _frames(tables: GraphTables, of_segment: Ints) -> Frames:
    frames = tables.nodes["Frame"]
    return Frames(
        parent=_numbers(frames["parent"], -1),
        depth=_numbers(frames["depth"]),
        lane=_numbers(frames["lane"]),
        name=read_texts(_encoded(frames["name"])),
        category=read_texts(_encoded(frames["category"])),
        of_segment=of_segment,
    )


def _steps(tables: GraphTables) -> tuple[StepWindow, ...]:
    rows = tables.nodes["Step"].to_pylist()
    return tuple(
        StepWindow(
            number=row["number"],
            rank=row["rank"],
            start=row["start_ns"],
            end=row["end_ns"],
            window_end=row["window_end_ns"],
            name=row["name"],
            marker=row["marker"],
        )
        for row in rows
    )


def _phases(tables: GraphTables) -> Phases:
    rows = tables.nodes["Phase"]
    numbers = ("rank", "lane", "end_lane", "occurrence", "start", "end", "window_end")
    kept = {name: f"{name}_ns" if name in ("start", "end", "window_end") else name for name in numbers}
    return Phases(
        **{name: _numbers(rows[column]) for name, column in kept.items()},
        step=_numbers(rows["step"], NONE),
        name=np.array([PHASE_NAMES.index(name) for name in rows["name"].to_pylist()], dtype=np.int64),
        recorded=np.array([text == EVIDENCE[0] for text in rows["evidence"].to_pylist()], dtype=bool),
        confidence=rows["confidence"].to_numpy(),
    )


def _numbers(column: pa.ChunkedArray, missing: int = 0) -> Ints:
    values: Ints = column.fill_null(missing).to_numpy()
    return values


def _is_valid(column: pa.ChunkedArray) -> Flags:
    flags: Flags = column.is_valid().to_numpy()
    return flags


def _encoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column if pa.types.is_dictionary(column.type) else pc.dictionary_encode(column)


def _coded(column: TextColumn, codes: "dict[str, int] | tuple[str, ...]", missing: int = 0) -> Ints:
    """Map each text to its code, or to its position if `codes` is a tuple; `missing` for other texts."""
    known = codes if isinstance(codes, dict) else {text: place for place, text in enumerate(codes)}
    values: Ints = np.array([known.get(str(text), missing) for text in column.values], dtype=np.int64)
    return values[column.codes]
