"""Chooses which of several causes explains a start: the last to arrive, in a close race the likelier."""

from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.array_tables import select_rows
from tracegraph.ingest.arrays import Flags, Floats, Ints
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.causal.graph.likelihood import judge
from tracegraph.ingest.causal.graph.segments import Segments


@dataclass(frozen=True)
class Candidates:
    """Possible causes, as segments; `arrival`: when the effect could have started by this alone, ns."""

    cause: Ints
    effect: Ints
    mechanism: Ints
    recorded: Flags
    confidence: Floats
    arrival: Ints


@dataclass(frozen=True)
class Dependencies:
    """Dependencies between segments, sorted by (effect, cause, mechanism).

    Attributes
    ----------
    gap
        effect.start - cause.completion, ns.
    lag
        The lag that a replay uses, ns; never more than `gap`.
    binding
        Whether this dependency explains the start of its effect.
    """

    cause: Ints
    effect: Ints
    mechanism: Ints
    recorded: Flags
    confidence: Floats
    gap: Ints
    lag: Ints
    binding: Flags

    def __len__(self) -> int:
        return len(self.cause)


def causal_order(segments: Segments) -> Ints:
    """Order the segments so that all dependencies lead forward; of one start, empty segments come first."""
    return np.lexsort((segments.end, segments.start))


def choose(segments: Segments, candidates: Candidates) -> tuple[Dependencies, Ints, Ints]:
    """Choose the binding cause of each segment.

    The latest arrival binds; ties go by the order of the rules in `MECHANISMS`. If arrivals of GPU work lie
    closer than the lags vary, the likelier lag binds (see `judge`); its share of the likelihood multiplies
    its confidence, and the margin is 0 if the answer is not clear.

    Returns
    -------
    tuple
        All dependencies; for each segment the position of its binding one, -1 for none; and its margin to the
        second-best in ns, `NONE` with one cause or none.
    """
    candidates = _distinct(candidates)
    candidates = _possible(segments, candidates)
    cause, effect = candidates.cause, candidates.effect
    gap = segments.start[effect] - segments.completion[cause]
    arrival = np.maximum(candidates.arrival, segments.completion[cause])
    usual = arrival - segments.completion[cause]
    verdict = judge(segments, candidates.mechanism, candidates.recorded, cause, effect, gap, arrival)
    ranking = np.where(verdict.favoured, segments.start[effect], arrival)
    best_first = np.lexsort((cause, candidates.mechanism, ~verdict.favoured, -ranking, effect))
    ranked = effect[best_first]
    is_best = np.append(True, ranked[1:] != ranked[:-1])[: len(ranked)]
    is_second = np.append(False, is_best[:-1])[: len(ranked)] & ~is_best
    binding = np.zeros(len(effect), dtype=bool)
    binding[best_first[is_best]] = True
    edge = np.full(len(segments), -1, dtype=np.int64)
    edge[effect[binding]] = np.flatnonzero(binding)
    margin = np.full(len(segments), NONE, dtype=np.int64)
    second = best_first[is_second]
    margin[effect[second]] = ranking[edge[effect[second]]] - ranking[second]
    margin[effect[verdict.open_race]] = 0
    # A replay must not find a tie if the likelier cause was favoured, so the others get 1 ns less.
    beaten = ~binding & verdict.favoured[edge[effect]]
    found = Dependencies(
        cause=cause,
        effect=effect,
        mechanism=candidates.mechanism,
        recorded=candidates.recorded,
        confidence=candidates.confidence * np.where(binding, verdict.share, 1),
        gap=gap,
        lag=np.where(binding, gap, np.minimum(gap - beaten, usual)),
        binding=binding,
    )
    return found, edge, margin


def _distinct(candidates: Candidates) -> Candidates:
    """Keep one row for each cause, effect and mechanism, sorted by effect, cause and mechanism."""
    order = np.lexsort((candidates.mechanism, candidates.cause, candidates.effect))
    again = np.ones(len(order), dtype=bool)
    again[:1] = False
    for column in (candidates.cause, candidates.effect, candidates.mechanism):
        again[1:] &= column[order][1:] == column[order][:-1]
    return select_rows(candidates, order[~again])


def _possible(segments: Segments, candidates: Candidates) -> Candidates:
    """Leave out causes that come after their effect."""
    position = np.empty(len(segments), dtype=np.int64)
    position[causal_order(segments)] = np.arange(len(segments))
    cause, effect = candidates.cause, candidates.effect
    in_time = segments.start[effect] >= segments.completion[cause]
    return select_rows(candidates, in_time & (position[cause] < position[effect]))
