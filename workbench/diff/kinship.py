"""Whether two runs can be versions of one program: how many names of operators and kernels they share."""

from dataclasses import dataclass

import pandas as pd

from tracegraph.queries.shapes.roles import of_role
from tracegraph.vocabulary.categories import Role

_RELATED = 0.1
"""The share of the names, 0..1, that versions of one program have in common at least.

Of the two with fewer names, so that a version with much new work stays one; a program that was compiled keeps
operators, one that moved to other hardware keeps all of them.
"""


@dataclass(frozen=True)
class Kinship:
    """How many names of operators and kernels A and B have, and how many both have."""

    of_a: int
    of_b: int
    shared: int

    @property
    def is_related(self) -> bool:
        """Whether A and B can be versions of one program; so if a side names no operators and no kernels."""
        return self.shared >= _RELATED * min(self.of_a, self.of_b)


def kinship(events: pd.DataFrame) -> Kinship:
    """Count the names that A and B share, in the rows of `trace_diff_matched`.

    Calls, copies and fills are left out: every program for a GPU has them.
    """
    rows = events[of_role(events["category"], Role.OPERATOR, Role.KERNEL)]
    in_a, in_b = rows["count_a"] > 0, rows["count_b"] > 0
    return Kinship(int(in_a.sum()), int(in_b.sum()), int((in_a & in_b).sum()))
