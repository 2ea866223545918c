"""What a report is made from, in one frozen object, with the sums over it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

PATH_COLUMNS = (
    *("position", "rank", "lane", "source_index", "name", "category", "start_ns", "end_ns"),
    *("dependency", "mechanism", "evidence", "confidence", "lag_ns"),
)
"""Columns of `critical_path.csv`; columns may be added after them, never between."""
HOTSPOT_COLUMNS = ("name", "category", "duration_ns", "proportion", "prop_in_total", "count")
GAP = "gap"
DATA_LOADING, COMMUNICATION = "data loading", "communication"
TOPICS = {
    DATA_LOADING: ("enumerate(DataLoader)", "torch/utils/data/dataloader.py"),
    COMMUNICATION: ("nccl", "rccl", "gloo:", "mpi:", "ucc:", "xccl:", "c10d::", "record_param_comms"),
}
"""Beginnings of the names of events that are about a topic, with all that runs inside them."""
_STEP_PREFIX = "ProfilerStep#"
_ANNOTATION = "user_annotation"


@dataclass(frozen=True)
class Source:
    """One file of the run; `clock_offset_ns` was added to its GPU rows."""

    file: str
    sha256: str
    rank: int
    clock_offset_ns: int


@dataclass(frozen=True)
class RunDetails:
    """What the run node and its files state: counts in the columns, integrity rows, seconds, versions."""

    name: str
    ranks: int
    events: int
    nodes: int
    nodes_by_label: Mapping[str, int]
    relationships: Mapping[str, int]
    integrity: Sequence[Mapping[str, object]]
    timings_s: Mapping[str, float]
    versions: Mapping[str, str]
    sources: Sequence[Source] = ()


@dataclass(frozen=True)
class Findings:
    """Everything a report shows about one window of one run; times are integer ns, shares 0..1.

    `path`: PATH_COLUMNS, one row a stretch, in time order; `source_index` is null for a gap row.
    `hotspots`, `gaps`: HOTSPOT_COLUMNS, largest first; the listed ones.
    `lanes`: lane, rank, kind (`thread`, `stream`), name, pid, tid, device, stream.
    `timeline`: lane, start_ns, end_ns, name (null where several were merged), category, count.
    `gpu`: rank, device, busy_ns, busy_share, count: one row a GPU, empty without GPU work.
    `steps`: rank, number, start_ns, end_ns, window_end_ns.
    `topics`: for each of TOPICS the events that begin it: lane, start_ns, end_ns.
    """

    details: RunDetails
    start_ns: int
    end_ns: int
    step: int | None
    path: pd.DataFrame
    hotspots: pd.DataFrame
    gaps: pd.DataFrame
    lanes: pd.DataFrame
    timeline: pd.DataFrame
    gpu: pd.DataFrame
    steps: pd.DataFrame
    topics: Mapping[str, pd.DataFrame]

    @property
    def length_ns(self) -> int:
        """Length of the window, which the path tiles."""
        return self.end_ns - self.start_ns

    @cached_property
    def durations(self) -> "pd.Series[int]":
        """Length of each row of the path."""
        return self.path["end_ns"] - self.path["start_ns"]

    @cached_property
    def is_gap(self) -> "pd.Series[bool]":
        """Which rows of the path are gaps."""
        return self.path["source_index"].isna()

    @cached_property
    def untiled_ns(self) -> int:
        """How much of the window the rows leave out or cover twice; 0 when they tile it."""
        edges = [self.start_ns, *self.path["end_ns"].tolist()]
        starts = [*self.path["start_ns"].tolist(), self.end_ns]
        return sum(abs(start - edge) for edge, start in zip(edges, starts, strict=True))

    @property
    def explained_share(self) -> float:
        """Share of the length in event rows."""
        return 1 - self.share(int(self.durations[self.is_gap].sum()))

    @property
    def untraced_share(self) -> float:
        """Share of the length that is self time of an annotation or a step: Python that was not recorded."""
        annotation = self.path["category"].eq(_ANNOTATION) | self.path["name"].str.startswith(_STEP_PREFIX)
        return self.share(int(self.durations[annotation & ~self.is_gap].sum()))

    def share(self, duration_ns: float) -> float:
        """Share of the path's length."""
        return duration_ns / max(1, self.length_ns)

    @cached_property
    def by_category_ns(self) -> dict[str, int]:
        """Length of the path in each category, gaps as `gap`; sums to the length."""
        return self._grouped("category")

    @cached_property
    def by_dependency_ns(self) -> dict[str, int]:
        """Length of the rows that each dependency kind led to; what begins the path is `root`."""
        return self._grouped("dependency")

    @cached_property
    def by_gap_ns(self) -> dict[str, int]:
        """Length of the path in each kind of gap."""
        return self._grouped("name", self.is_gap)

    def _grouped(self, column: str, only: "pd.Series[bool] | None" = None) -> dict[str, int]:
        rows = pd.DataFrame({"key": self.path[column], "length": self.durations})
        sums = (rows if only is None else rows[only]).groupby("key", sort=True)["length"].sum()
        ordered = sums.sort_values(ascending=False, kind="stable")
        return {str(key): int(value) for key, value in ordered.items()}

    @cached_property
    def gpu_busy_share(self) -> float | None:
        """Mean share of the window in which a GPU runs something, over the GPUs; None without GPU work."""
        if self.gpu.empty:
            return None
        return float(self.gpu["busy_share"].mean())
