"""Chooses which of several causes explains a start: the last to arrive, in a close race the likelier."""

from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.array_tables import join_rows, select_rows
from tracegraph.ingest.arrays import Flags, Floats, Ints, Terms
from tracegraph.ingest.causal.events.events import NONE
from tracegraph.ingest.causal.graph.likelihood import judge
from tracegraph.ingest.causal.graph.segments import Segments


@dataclass(frozen=True)
class Candidates:
    """Possible causes, as segments; `arrival`: when the effect could have started by this alone, ns."""

    cause: Ints
    effect: Ints
    mechanism: Terms
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
    mechanism: Terms
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
    # Most segments of threads only follow the one before: these need no choice, which takes far longer.
    alone = segments.on_thread[candidates.effect]
    alone &= (np.bincount(candidates.effect, minlength=len(segments)) == 1)[candidates.effect]
    sole = _sole(segments, _possible(segments, select_rows(candidates, alone)))
    rivals = _possible(segments, _distinct(select_rows(candidates, ~alone)))
    decided, margin = _decide(segments, rivals)
    found = join_rows([sole, decided])
    found = select_rows(found, np.argsort(found.effect, kind="stable"))
    return found, _binding_edges(segments, found.effect, found.binding), margin


def _sole(segments: Segments, candidates: Candidates) -> Dependencies:
    """Bind segments to their only causes."""
    gap = segments.start[candidates.effect] - segments.completion[candidates.cause]
    return Dependencies(
        cause=candidates.cause,
        effect=candidates.effect,
        mechanism=candidates.mechanism,
        recorded=candidates.recorded,
        confidence=candidates.confidence,
        gap=gap,
        lag=gap,
        binding=np.ones(len(gap), dtype=bool),
    )


def _binding_edges(segments: Segments, effect: Ints, binding: Flags) -> Ints:
    """Find the position of the dependency that binds each segment, -1 for none."""
    edge = np.full(len(segments), -1, dtype=np.int64)
    bound = np.flatnonzero(binding)
    edge[effect[bound]] = bound
    return edge


def _decide(segments: Segments, candidates: Candidates) -> tuple[Dependencies, Ints]:
    """Choose among candidates in order; return all, and for each segment its margin to the second-best."""
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
    edge = _binding_edges(segments, effect, binding)
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
    return found, margin


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
    cause, effect = candidates.cause, candidates.effect
    begun, begins = segments.start[cause], segments.start[effect]
    possible = begins >= segments.completion[cause]
    at_once = np.flatnonzero(begun == begins)
    possible[at_once] &= comes_before(segments, cause[at_once], effect[at_once])
    return candidates if possible.all() else select_rows(candidates, possible)


def comes_before(segments: Segments, cause: Ints, effect: Ints) -> Flags:
    """Tell which causes come before their effects in `causal_order`, of those that start at one time."""
    done, ends = segments.end[cause], segments.end[effect]
    before: Flags = (done < ends) | ((done == ends) & (cause < effect))
    return before
