"""What a report is made from, in one frozen object, with the sums over it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from tracegraph.queries.run_part import RunPart
from tracegraph.queries.shapes.category_roles import of_role
from tracegraph.queries.shapes.path.step_paths import job_steps
from tracegraph.queries.shapes.path.sums import sum_by
from tracegraph.queries.shapes.path.unclear_time import unclear_parts
from tracegraph.queries.shapes.peak.job import NOTHING_SAID, Job
from tracegraph.vocabulary.categories import GPU_WORK, Role
from tracegraph.vocabulary.gaps import IN_SHORT, NOT_IN_FILE, OUTSIDE_RECORDING, UNKNOWN
from tracegraph.workbench.findings.step_summary import StepSummary, summarise_steps

PATH_COLUMNS = (
    *("position", "rank", "lane", "source_index", "name", "category", "start_ns", "end_ns"),
    *("dependency", "mechanism", "evidence", "confidence", "lag_ns"),
)
"""Columns of `critical_path.csv`; columns may be added after them, never between; `label` is the last."""
GAP_COLUMNS = ("name", "category", "duration_ns", "proportion", "prop_in_total", "count")
HOTSPOT_COLUMNS = (*GAP_COLUMNS, "accumulated_ns", "accumulated_place")
INFERRED = "inferred"
NEAR_TIE_NS = 1_000
"""A second cause at most this much before the chosen one is a near-tie: many files count in µs."""


_NEAR_SLACK_PART = 10
"""A speed-up of the path by a tenth makes critical what has less slack. The tenth was chosen by eye: a larger
part lists more events, a smaller one leaves out some that larger speed-ups meet."""


def near_slack_ns(length_ns: int) -> int:
    """Up to which slack something is nearly critical: a 10th of the window."""
    return max(1, length_ns // _NEAR_SLACK_PART)


@dataclass(frozen=True)
class Source:
    """One file of the run.

    Added to its GPU rows: `clock_offset_ns` at `window_start_ns`, and each second `clock_drift_ppb` ns more.
    Then added to all of them, in the same way, to bring them on the first rank's clock: `rank_*`. `in_short`:
    whether only its operations with other ranks are in the run.
    """

    file: str
    sha256: str
    rank: int
    clock_offset_ns: int
    clock_drift_ppb: int = 0
    window_start_ns: int = 0
    rank_offset_ns: int = 0
    rank_drift_ppb: int = 0
    in_short: bool = False


@dataclass(frozen=True)
class RunDetails:
    """What the run node and its files state: counts in the columns, integrity rows, seconds, versions.

    `cross_thread` is the policy between threads; `alternatives`, `what_next` and `potential` are the rows
    that `alternatives` and `what_next` of `tracegraph.ingest.causal` and `potential` of
    `tracegraph.ingest.what_if` made, `fixes` and `bounds` what its modules of these names did, `stragglers`
    what `tracegraph.ingest.operations.stragglers` measured, empty without a log of operations.
    `scenario_of`: of a scenario, the run that it is a change of.
    """

    name: str
    ranks: int
    events: int
    nodes: int
    nodes_by_label: Mapping[str, int]
    relationships: Mapping[str, int]
    integrity: Sequence[Mapping[str, object]]
    timings_s: Mapping[str, float]
    versions: Mapping[str, str]
    cross_thread: str
    alternatives: Sequence[Mapping[str, Any]]
    what_next: Sequence[Mapping[str, Any]]
    potential: Sequence[Mapping[str, Any]] = ()
    fixes: Sequence[Mapping[str, Any]] = ()
    bounds: Mapping[str, Any] = field(default_factory=dict)
    stragglers: Mapping[str, Any] = field(default_factory=dict)
    sources: Sequence[Source] = ()
    scenario_of: str | None = None


@dataclass(frozen=True)
class Findings:
    """Everything a report shows about one window of one run; times are integer ns, shares 0..1.

    `path`: PATH_COLUMNS, texts as categories, lane_name and margin_ns (how much later the cause comes than
    the second-best, null without one), one row a stretch, in time order; a gap row has no `source_index`.
    `hotspots`: HOTSPOT_COLUMNS, `gaps`: GAP_COLUMNS, largest first; the listed ones.
    `lanes`: lane, rank, kind (`thread`, `stream`), name, pid, tid, device, stream.
    `timeline`: lane, start_ns, end_ns, name (null where several were merged), category, count;
    without columns where nothing is drawn.
    `waits`: lane, lane_name, name, duration_ns, share, count: what threads wait for, on the path or not.
    `gpu`: rank, device, busy_ns, busy_share, count, computing_ns, transferring_ns, waiting_ns and
    communicating_ns, as of `gpu_busy`: one row a GPU, empty without GPU work.
    `steps`: rank, number, start_ns, end_ns, window_end_ns, name, marker.
    `step_paths`, `recurring`: as of `step_paths` and `recurring_hotspots`, the latter its first rows;
    without columns for a report on a part.
    `near_critical`: name, category, lane, lane_name, slack_ns, duration_ns, share, count; slack up to
    `near_slack_ns`, least first.
    `second_causes`: name, category, duration_ns, count, margin_ns, cause, mechanism, second, second_mechanism
    of the hotspots.
    `silences`: lane, lane_name, start_ns, end_ns, duration_ns, gpu_busy_ns, threads_busy_ns: the longest
    stretches of the path in which no event is open on the thread, and what else ran meanwhile.
    `topics`: for each of TOPICS the events that begin it: kernel_type, name, lane, start_ns, end_ns.
    `answers`: the rows of every query that a section asks, by its name. `thresholds`: of recommendations, by
    rule, where a user set them. `job`: what a user says of the job, now or at ingest;
    `job_at_ingest`: what was said then. `part`: of the run, what it is about.
    """

    details: RunDetails
    start_ns: int
    end_ns: int
    part: RunPart
    path: pd.DataFrame
    hotspots: pd.DataFrame
    gaps: pd.DataFrame
    lanes: pd.DataFrame
    timeline: pd.DataFrame
    waits: pd.DataFrame
    gpu: pd.DataFrame
    steps: pd.DataFrame
    step_paths: pd.DataFrame
    recurring: pd.DataFrame
    near_critical: pd.DataFrame
    second_causes: pd.DataFrame
    silences: pd.DataFrame
    topics: Mapping[str, pd.DataFrame]
    answers: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    thresholds: Mapping[str, float] = field(default_factory=dict)
    job: Job = NOTHING_SAID
    job_at_ingest: Job = NOTHING_SAID

    @property
    def scope(self) -> str:
        """What of the run it is about."""
        return str(self.part) or "the whole run"

    @property
    def title(self) -> str:
        """The run's name, and the step or phase where it is about one."""
        return f"{self.details.name}, {self.part}" if self.part else self.details.name

    @property
    def near_slack_ns(self) -> int:
        """Up to which slack something is nearly critical."""
        return near_slack_ns(self.length_ns)

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
    def is_own(self) -> "pd.Series[bool]":
        """In which rows of the path a thread works: neither gaps nor GPU work."""
        own: pd.Series[bool] = ~self.is_gap & ~of_role(self.path["category"], *GPU_WORK, Role.GAP)
        return own

    @cached_property
    def own_work_ns(self) -> dict[tuple[str, str], int]:
        """Own time on the path of each name and category of threads, the longest first."""
        # As categories, of which there are few: a path has a million rows.
        keys = [self.path[key][self.is_own].astype("category") for key in ("name", "category")]
        sums = self.durations[self.is_own].groupby(keys, observed=True).sum()
        found = {
            (str(name), str(category)): int(ns)
            for (name, category), ns in zip(sums.index.tolist(), sums, strict=True)
        }
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

    @cached_property
    def untiled_ns(self) -> int:
        """How much of the window the rows leave out or cover twice; 0 when they tile it."""
        edges = np.append(self.start_ns, self.path["end_ns"].to_numpy(np.int64))
        starts = np.append(self.path["start_ns"].to_numpy(np.int64), self.end_ns)
        return int(np.abs(starts - edges).sum())

    @property
    def explained_share(self) -> float:
        """Share of the length in event rows."""
        return 1 - self.share(int(self.durations[self.is_gap].sum()))

    @property
    def untraced_share(self) -> float:
        """Share of the length that is self time of an annotation or a step: Python that was not recorded."""
        return self._unclear["untraced_share"]

    @property
    def untraced_cpu_share(self) -> float:
        """Share of the length in gaps in which no event is open on the thread, and no rule says it waits."""
        return self._unclear["untraced_cpu_share"]

    @property
    def unclear_share(self) -> float:
        """Share of the length that nobody knows anything about: the sum of its three kinds."""
        return self._unclear["unclear_share"]

    @property
    def unknown_share(self) -> float:
        """Share of the length in gaps that no rule explains."""
        return self._unclear["unknown_share"]

    @cached_property
    def _unclear(self) -> dict[str, float]:
        parts = unclear_parts(self.path["name"], self.path["category"], self.is_gap)
        return {name: self.share(int(self.durations[rows].sum())) for name, rows in parts.items()}

    @cached_property
    def unrecorded(self) -> Mapping[str, float]:
        """Share of the length in each gap whose work the file does not hold, the largest first."""
        found = {name: self.share(self.by_gap_ns.get(name, 0)) for name in NOT_IN_FILE}
        return _largest_first(found)

    @cached_property
    def unseen(self) -> Mapping[str, float]:
        """Share of the length, by the reason, of what the run holds no work or no reason of; largest first.

        Each moment is in one part: time outside a rank's recording is both unrecorded and without a call.
        """
        found = {
            **self.unrecorded,
            "inside annotations whose code was not recorded": self.untraced_share,
            "with no call open": self.untraced_cpu_share - self.unrecorded.get(OUTSIDE_RECORDING, 0.0),
            "without an explanation": self.unknown_share,
            IN_SHORT: self.share(self.by_gap_ns.get(IN_SHORT, 0)),
        }
        return _largest_first(found)

    @property
    def unrecorded_share(self) -> float:
        """Share of the length in gaps whose work the file does not hold."""
        return sum(self.unrecorded.values())

    @property
    def inferred_share(self) -> float:
        """Share of the length in rows whose start is explained by an inferred dependency."""
        return self.share(int(self.durations[self.path["evidence"].eq(INFERRED)].sum()))

    @cached_property
    def is_near_tie(self) -> "pd.Series[bool]":
        """Which rows start by a cause that a second one follows within NEAR_TIE_NS."""
        return self.path["margin_ns"].le(NEAR_TIE_NS).fillna(False).astype(bool)

    @property
    def near_tie_share(self) -> float:
        """Share of the length in rows that hang on a near-tie."""
        return self.share(int(self.durations[self.is_near_tie].sum()))

    @property
    def near_ties(self) -> int:
        """Hand-overs of the path that are near-ties; the lag before a row belongs to its hand-over."""
        of_one = self.is_gap.shift(fill_value=False)
        for values in (self.path["lane"], self.path["mechanism"], self.path["margin_ns"].astype("Int64")):
            of_one &= values.eq(values.shift()).fillna(False).astype(bool)
        return int((self.is_near_tie & ~of_one).sum())

    @property
    def alternatives(self) -> Sequence[Mapping[str, Any]]:
        """The path under other assumptions; none in a report on a part, as they are about the run."""
        return () if self.part else self.details.alternatives

    @property
    def what_next(self) -> Sequence[Mapping[str, Any]]:
        """The run without each of its hotspots; none in a report on a part."""
        return () if self.part else self.details.what_next

    @property
    def potential(self) -> Sequence[Mapping[str, Any]]:
        """What is gained in the whole run without the largest names and waits of its path."""
        return self.details.potential

    @property
    def fixes(self) -> Sequence[Mapping[str, Any]]:
        """What could be done about the whole run; none in a report on a part."""
        return () if self.part else self.details.fixes

    @property
    def bounds(self) -> Mapping[str, Any]:
        """What bounds the whole run; nothing in a report on a part."""
        return {} if self.part else self.details.bounds

    @property
    def stragglers(self) -> Mapping[str, Any]:
        """How much stragglers cost the whole run; nothing in a report on a part."""
        return {} if self.part else self.details.stragglers

    @cached_property
    def step_summary(self) -> StepSummary | None:
        """The steps of the run compared; None for fewer than two and in a report on a part."""
        return summarise_steps(self.job_steps)

    @cached_property
    def job_steps(self) -> pd.DataFrame:
        """Rows of `step_paths`, a row a step: of several ranks the one that ends it last."""
        return job_steps(self.step_paths)

    def share(self, duration_ns: float) -> float:
        """Share of the path's length."""
        return duration_ns / max(1, self.length_ns)

    @cached_property
    def by_category_ns(self) -> dict[str, int]:
        """Length of the path in each category, gaps as `gap`; sums to the length."""
        return sum_by(self.path, "category")

    @cached_property
    def by_dependency_ns(self) -> dict[str, int]:
        """Length of the rows that each dependency kind led to; what begins the path is `root`."""
        return sum_by(self.path, "dependency")

    @property
    def by_gap_ns(self) -> dict[str, int]:
        """Length of the path in each kind of gap, unknown ones first."""
        gaps = self.gaps_unknown_first
        return {str(name): int(ns) for name, ns in zip(gaps["name"], gaps["duration_ns"], strict=True)}

    @property
    def gaps_unknown_first(self) -> pd.DataFrame:
        """The listed gaps for people: unknown ones first, else the largest first."""
        return self.gaps.sort_values("name", key=lambda names: names.ne(UNKNOWN), kind="stable")

    @cached_property
    def gpu_busy_share(self) -> float | None:
        """Mean share of the window in which a GPU runs something, over the GPUs; None without GPU work."""
        if self.gpu.empty:
            return None
        return float(self.gpu["busy_share"].mean())

    @cached_property
    def gpu_working_share(self) -> float | None:
        """Largest share of the window in which a GPU computes or moves data; None without GPU work.

        A kernel that waits for another rank does not work.
        """
        if self.gpu.empty:
            return None
        return float((self.gpu["computing_ns"] + self.gpu["transferring_ns"]).max() / max(1, self.length_ns))


def _largest_first(shares: Mapping[str, float]) -> dict[str, float]:
    """Order shares, the largest first, without those that are nothing."""
    return dict(sorted(((n, s) for n, s in shares.items() if s > 0), key=lambda item: -item[1]))
