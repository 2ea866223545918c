"""Whether two runs can be versions of one program: what operators and kernels they share."""

from dataclasses import dataclass

import pandas as pd

from tracegraph.queries.shapes.category_roles import of_role
from tracegraph.vocabulary.categories import Role

_RELATED = 0.1
"""The share of the names, and of the time under them, that versions of one program have in common; 0..1.

Any two programs in PyTorch share names (`aten::empty`, `aten::copy_`), a quarter to most of those of the
smaller one, but often little of the time. Of recorded versions of one program (eager and as a CUDA graph,
GPUs of two vendors, two loaders) shared names took nearly all. Of different ones they took 0 to .08 where a
model of language and one of images were compared, and up to .9 where both were alike: those are not told.
"""


@dataclass(frozen=True)
class Kinship:
    """How many names of operators and kernels A and B have, how many both have, and what time is under those.

    `shared_time`: the share of the durations of operators, or of kernels if it is larger there; on the side
    where it is smaller. None where no kind has a duration on both sides.
    """

    of_a: int
    of_b: int
    shared: int
    shared_time: float | None

    @property
    def is_related(self) -> bool:
        """Whether A and B can be versions of one program; so if a side names no operators and no kernels."""
        enough = self.shared >= _RELATED * min(self.of_a, self.of_b)
        return enough and (self.shared_time is None or self.shared_time >= _RELATED)


def kinship(events: pd.DataFrame) -> Kinship:
    """Compare the names of A and B, in the rows of `trace_diff_matched`.

    Calls, copies and fills are left out: every program for a GPU has them.
    """
    rows = events[of_role(events["category"], Role.OPERATOR, Role.KERNEL)]
    in_a, in_b = rows["count_a"] > 0, rows["count_b"] > 0
    times = [_shared_time(rows[of_role(rows["category"], role)]) for role in (Role.OPERATOR, Role.KERNEL)]
    known = [one for one in times if one is not None]
    return Kinship(int(in_a.sum()), int(in_b.sum()), int((in_a & in_b).sum()), max(known, default=None))


def _shared_time(rows: pd.DataFrame) -> float | None:
    """Compute the share of the durations that is under shared names, on the side where it is smaller."""
    shared = (rows["count_a"] > 0) & (rows["count_b"] > 0)
    durations = [rows["duration_a_ns"], rows["duration_b_ns"]]
    if not all(one.sum() for one in durations):
        return None
    return min(float(one[shared].sum() / one.sum()) for one in durations)
