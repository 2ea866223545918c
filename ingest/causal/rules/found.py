"""What rules find: edges, and the waits that they end."""

from dataclasses import dataclass, field

from tracegraph.ingest.array_tables import join_rows, select_rows
from tracegraph.ingest.causal.rules.edges import Edges, Waits, no_edges, no_waits


@dataclass(frozen=True)
class Found:
    """Edges between ports, and stretches in which threads wait, each in the order of the rules."""

    edges: Edges = field(default_factory=no_edges)
    waits: Waits = field(default_factory=no_waits)

    def plus(self, more: "Found") -> "Found":
        """Join the rows of both, this one's first."""
        return Found(
            join_rows([self.edges, more.edges]) if len(more.edges) else self.edges,
            join_rows([self.waits, more.waits]) if len(more.waits) else self.waits,
        )

    def recorded_only(self) -> "Found":
        """Keep what remains if no timing rule is trusted."""
        edges, waits = self.edges, self.waits
        return Found(select_rows(edges, edges.recorded), select_rows(waits, waits.recorded))
