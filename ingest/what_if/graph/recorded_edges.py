"""A run as if nothing inferred were a cause, which shows how much of a gain is sure."""

from dataclasses import replace

import numpy as np

from tracegraph.ingest.array_tables import select_rows
from tracegraph.ingest.arrays import Ints, as_terms
from tracegraph.ingest.causal.events.window import Window
from tracegraph.ingest.causal.graph.dependencies import Dependencies
from tracegraph.ingest.causal.graph.segments import WAIT, Segments
from tracegraph.ingest.causal.rules.edges import GAP_OF_MECHANISM
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.vocabulary.mechanisms import CODE, PROGRAM_ORDER


def on_recorded_edges(graph: ReplayGraph) -> ReplayGraph:
    """Make the graph as if nothing inferred were a cause; it stays itself if nothing inferred binds.

    A wait that an inferred dependency ends then is work of its thread. A segment without another cause
    follows what was before it on its lane, or else has a fixed start. Every start stays as it is.
    """
    found, segments = graph.dependencies, graph.segments
    inferred = np.unique(found.effect[found.binding & ~found.recorded])
    if not len(inferred):
        return graph
    freed = np.zeros(len(segments) + 1, dtype=bool)
    freed[inferred] = True
    follows = np.append(segments.lane[1:] == segments.lane[:-1], False)
    waited = (segments.kind == WAIT) & follows & freed[1:]
    work = np.where(waited, segments.end - segments.start, segments.work)
    sure = replace(segments, work=work)
    edges = _bound_anew(sure, select_rows(found, found.recorded), inferred, graph.window)
    caused = np.zeros(len(segments), dtype=bool)
    caused[edges.effect] = True
    late = np.flatnonzero((segments.start > graph.window.start) & ~caused)
    fixed = dict(zip(late.tolist(), segments.start[late].tolist(), strict=True))
    names = GAP_OF_MECHANISM.take(edges.mechanism)
    return replace(graph, segments=sure, dependencies=edges, gap_name=names, fixed=fixed)


def _bound_anew(segments: Segments, kept: Dependencies, freed: Ints, window: Window) -> Dependencies:
    """Bind each of the `freed` segments to what completes last of its other causes."""
    before = freed - 1
    beside = (before >= 0) & (segments.lane[before] == segments.lane[freed])
    added = np.flatnonzero(beside & (segments.start[freed] > window.start) & ~np.isin(freed, kept.effect))
    cause = np.append(kept.cause, before[added])
    effect = np.append(kept.effect, freed[added])
    gap = segments.start[effect] - segments.completion[cause]
    binding = np.append(kept.binding, np.zeros(len(added), dtype=bool))
    # A wait lasts longer as work: what started meanwhile has other causes.
    there = np.flatnonzero(gap >= 0)
    nearest_last = there[np.lexsort((-gap[there], effect[there]))]
    is_last = np.append(effect[nearest_last][1:] != effect[nearest_last][:-1], True)[: len(nearest_last)]
    nearest = nearest_last[is_last]
    bound = np.zeros(len(segments), dtype=bool)
    bound[effect[there][binding[there]]] = True
    binding[nearest[~bound[effect[nearest]]]] = True
    lag = np.append(kept.lag, np.zeros(len(added), dtype=np.int64))
    sure = np.ones(len(cause), dtype=bool)
    whole = Dependencies(
        cause=cause,
        effect=effect,
        mechanism=as_terms(np.append(kept.mechanism, np.full(len(added), CODE[PROGRAM_ORDER]))),
        recorded=sure,
        confidence=sure.astype(float),
        gap=gap,
        lag=np.where(binding, gap, np.minimum(lag, gap)),
        binding=binding,
    )
    return select_rows(whole, there)
