"""What an engineer should know beside an answer: what a question leaves as it is, what is inferred."""

from collections.abc import Iterator

import numpy as np

from tracegraph.ingest.arrays import Flags
from tracegraph.ingest.what_if.changes.between_ranks import transfers, without_stragglers
from tracegraph.ingest.what_if.changes.change import Change
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.ingest.what_if.predictions.predict import Predictor
from tracegraph.vocabulary.gaps import GAP_CODE, WAITING_FOR_RANK
from tracegraph.vocabulary.mechanisms import MECHANISMS
from tracegraph.workbench.text.text import format_ns


def notes_of_handed(graph: ReplayGraph, handed: Flags) -> Iterator[str]:
    """Say how much of what is removed or scaled other threads do, and how it is known that they do it."""
    ns = int(graph.segments.work[handed].sum())
    if ns:
        of = graph.handed_over.of_segment[handed]
        rules = np.unique(graph.handed_over.mechanism[of[of >= 0]]).tolist()
        named = ", ".join(MECHANISMS[rule].name for rule in rules)
        yield f"{format_ns(ns)} of it is work that other threads were handed meanwhile, inferred by: {named}"


def notes_of_ranks(predictor: Predictor, change: Change) -> Iterator[str]:
    """Say what is left if ranks no longer wait for each other, and what mending that is worth."""
    if GAP_CODE[WAITING_FOR_RANK] in change.of_threads and transfers(predictor.graph).any():
        even = predictor.gain(Change(without_stragglers(predictor.graph)))
        yield (
            "each rank goes on from when it comes itself; the one that comes last waits for none, so what "
            f"makes it late stays: --no-stragglers, where no rank's host work is late, gains "
            f"{format_ns(even.gain_ns)}"
        )


def notes_of_detail(graph: ReplayGraph) -> Iterator[str]:
    """Say that what ranks in short work on stays as it is."""
    count = len(np.unique(graph.lanes.rank[graph.lanes.in_short]))
    if count:
        yield (
            f"{count} ranks are in short: what they work on stays as recorded, so that a change of what all "
            "ranks do gains more than this says; `tracegraph runs load` takes ranks in full"
        )
