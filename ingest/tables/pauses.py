"""The gaps before segments: where a path may hold time in which no event determines its length."""

from dataclasses import dataclass

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints, Terms
from tracegraph.ingest.causal.graph.segments import WORK
from tracegraph.ingest.causal.graph.solution import Solution
from tracegraph.vocabulary.gaps import GAP_NAMES, UNKNOWN


@dataclass(frozen=True)
class Pauses:
    """What precedes each segment.

    Attributes
    ----------
    since
        When it could have begun, ns; it follows a gap if that is before its start.
    name
        The name of that gap, by position in `GAP_NAMES`.
    is_one
        Whether it is a pause: no work, or after a gap.
    follows_gap
        Whether it is after a gap.
    """

    since: Ints
    name: Terms
    is_one: Flags
    follows_gap: Flags


def find_pauses(model: Solution) -> Pauses:
    """Find the gaps before segments.

    A wait before a segment in its own chain is a segment itself, so only what follows that one is a gap.
    Without a cause the gap begins with the window.
    """
    segments, binding, found = model.segments, model.binding, model.dependencies
    bound = np.flatnonzero(binding.edge >= 0)
    edge = binding.edge[bound]
    cause = found.cause[edge]
    in_chain = binding.chain[cause] == binding.chain[bound]
    since = np.full(len(segments), model.window.start, dtype=np.int64)
    since[bound] = np.where(in_chain, segments.end[cause], segments.start[bound] - found.gap[edge])
    name = np.full(len(segments), GAP_NAMES.index(UNKNOWN), dtype=np.int8)
    named = found.gap[edge] != 0
    name[bound[named]] = model.gap_name[edge[named]]
    follows_gap = since < segments.start
    return Pauses(since, name, follows_gap | (segments.kind != WORK), follows_gap)
