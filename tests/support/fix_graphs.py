"""Graphs of a few rows with the facts that they state, what fixes gain in them, and where they are found."""

from dataclasses import replace

import numpy as np
import tiny

from tracegraph.ingest.causal.events.event_arrays import read_events
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.text_columns import TextColumn, text_column
from tracegraph.ingest.what_if.fixes.fix import Candidate, Fix, Scene
from tracegraph.ingest.what_if.graph.facts import WorkFacts
from tracegraph.ingest.what_if.graph.graph import ReplayGraph, graph_of
from tracegraph.workbench.what_if.answer import Question, answer


def graph(*rows: tiny.Row) -> ReplayGraph:
    """The graph of some rows, with the facts that their columns state."""
    found = tiny.model(*rows)
    elements = read_events(tiny.trace(*rows))[0].elements
    no_text = TextColumn(np.zeros(len(rows), dtype=np.int32), np.array([""], dtype=object))
    nothing = np.full(len(rows), NONE)
    kinds = ["computation", "communication", ""]
    code = [2 if row["category"] != "kernel" else int("nccl" in str(row["name"])) for row in rows]
    facts = WorkFacts(
        operator=np.full(len(rows), -1, dtype=np.int64),
        kernel_type=TextColumn(np.array(code, dtype=np.int32), np.array(kinds, dtype=object)),
        kind=no_text,
        dtype=no_text,
        flops=nothing,
        moved_bytes=nothing,
        elements=elements,
        bytes=np.where(elements == NONE, NONE, 4 * elements),
        group_size=nothing,
        shapes=text_column(np.arange(len(rows)), [str(row.get("shapes", "")) for row in rows]),
        devices={},
    )
    return replace(graph_of(found), facts=lambda: facts)


def gain_us(of: ReplayGraph, *fixes: tuple[str, str], **more: int) -> float:
    asked = Question(fixes=fixes, overhead="none", **more)
    return answer(of, "run", asked).prediction.naive.gain_ns / 1000


def found(of: ReplayGraph, fix: Fix) -> dict[str, Candidate]:
    path = of.replay.run(of.segments.work, of.counted).on_path
    return {one.selector: one for one in fix.find(Scene(of, path))}
