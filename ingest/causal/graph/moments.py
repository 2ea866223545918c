"""Work of no length: of several at one moment, a replay goes through them lane by lane."""

import numpy as np

from tracegraph.ingest.array_tables import select_rows
from tracegraph.ingest.causal.events.events import Events
from tracegraph.ingest.causal.graph.segments import completions
from tracegraph.ingest.causal.rules.edges import Edges


def drop_backward(events: Events, edges: Edges) -> Edges:
    """Leave out edges between works of no length at one moment whose cause comes after its effect.

    Their order is that of `causal_order`: by lane, then by number. To leave them out costs no time, but
    what they explained must be known to lack a cause before the streams get their roots.
    """
    cause, effect = edges.cause_event, edges.effect_event
    empty = completions(events, edges) == events.start
    at_once = (cause >= 0) & (effect >= 0) & (events.start[cause] == events.start[effect])
    at_once &= empty[cause] & empty[effect]
    before = np.where(
        events.lane[cause] == events.lane[effect], cause < effect, events.lane[cause] < events.lane[effect]
    )
    return select_rows(edges, ~at_once | before)
