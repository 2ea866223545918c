"""Jobs of several ranks: path, clocks, the late rank and what-if, against what the simulator knows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.accuracy.markdown import table
from benchmarks.accuracy.missed_path import told_but_missed
from benchmarks.accuracy.sets import JITTER, At, Oracle, OracleSet, Row, read_json
from benchmarks.accuracy.under import GOAL, GOAL_WITH_JITTER
from benchmarks.accuracy.verdict import in_processes
from tracegraph.ingest.causal.graph.path_rows import path_table
from tracegraph.ingest.ranks.job import Job, build_job
from tracegraph.ingest.ranks.rank_part import read_all_parts
from tracegraph.ingest.sources.source import as_source
from tracegraph.ingest.tables.collectives import member_times
from tracegraph.ingest.what_if.graph.graph import graph_of
from tracegraph.workbench.what_if.answer import Question, answer
from tracegraph.workbench.what_if.assumptions import INFINITE_BANDWIDTH, NO_STRAGGLERS

MACHINES = ("mixed", "cpu", "gpu", "comm", "loader")
RANKS = (2, 4, 8)
"""The sizes of the simulated jobs."""
LAGS = (("--int-us",), (JITTER,))
_STRAGGLER, _SKEW_US, _LATE_US = "straggler_host_work", 1500, 5000
"""The late rank's extra work, the time between clocks of neighbouring ranks, and how late it is made."""
_PATH_GOAL, _OFFSET_GOAL_NS = 0.999, 20_000
"""Goals: the least recall and overlap of the path, and the largest error of a clock's offset."""
_PATH_COLUMNS = ["start_ns", "end_ns", "rank", "source_index", "margin_ns"]


@dataclass(frozen=True)
class JobScore:
    """The scores of one job.

    Attributes
    ----------
    recall, overlap
        Those of the path, 0..1.
    offset_error_ns
        The largest error of a clock's offset.
    late
        The rank for which the others waited longest; None if they did not wait.
    errors
        For each gain, predicted minus true as a share of the makespan.
    told_missed
        The share of the path that is missed although the files show it.
    """

    of: OracleSet
    recall: float
    overlap: float
    offset_error_ns: int
    late: int | None
    errors: dict[str, float]
    told_missed: float

    @property
    def straggler(self) -> int | None:
        """The rank that was made late; None if none was."""
        words = self.of.scenario.split()
        return int(words[words.index("--straggler") + 1].split(":")[0]) if "--straggler" in words else None

    @property
    def bound(self) -> float:
        """The largest error that a gain may have."""
        return GOAL_WITH_JITTER if JITTER in self.of.variant else GOAL

    @property
    def path_met(self) -> bool:
        """Whether recall and overlap are high enough."""
        return min(self.recall, self.overlap) >= _PATH_GOAL

    @property
    def met(self) -> bool:
        """Whether path, clocks, late rank and gains are as they should be."""
        named = self.straggler is None or self.late == self.straggler
        near = max(map(abs, self.errors.values())) <= self.bound
        return named and near and self.path_met and self.offset_error_ns <= _OFFSET_GOAL_NS


def job_sets(oracle: Oracle, seeds: Sequence[int], events: int) -> list[OracleSet]:
    """List every machine with 2, 4 and 8 ranks whose clocks differ, with and without a late rank."""
    mixes = [
        f"--regime {machine} --ranks {ranks} --skew {_SKEW_US}{late}"
        for machine in MACHINES
        for ranks in RANKS
        for late in ("", f" --straggler {ranks - 1}:{_LATE_US}")
    ]
    return oracle.matrix(mixes, LAGS, seeds, events)


@dataclass(frozen=True)
class _Judge:
    oracle: Oracle

    def __call__(self, one: OracleSet) -> JobScore:
        self.oracle.run("synth_kineto.py", one.stem, *one.options, "--whatif", f"--zero-under={_STRAGGLER}")
        count = len(list(one.stem.parent.glob(f"{one.stem.name}_rank*.json")))
        files = [one.stem.with_name(f"{one.stem.name}_rank{rank}.json") for rank in range(count)]
        try:
            return self._score(one, files)
        finally:
            for file in (*files, one.truth):
                file.unlink()

    def _score(self, one: OracleSet, files: list[Path]) -> JobScore:
        truth, scorer = read_json(one.truth), self.oracle.scorer()
        job = build_job([part for file in files for part in read_all_parts(as_source(file))])
        path = path_table(job.model).select(_PATH_COLUMNS).to_pandas()
        same = scorer.trace_facts(files)[1]
        ours = list(_rows(path))
        scored = scorer.score(truth, ours, files)
        true, named = (_as_one(rows, same) for rows in (scorer.truth_rows(truth), ours))
        offsets = [abs(-clock.offset_ns - rank * _SKEW_US * 1000) for rank, clock in job.clocks.items()]
        return JobScore(
            of=one,
            recall=scored["recall"],
            overlap=scored["overlap"],
            offset_error_ns=max(offsets),
            late=_late_rank(job),
            errors=dict(_errors(job, truth["total_us"], truth["whatif"])),
            told_missed=told_but_missed(truth, true, named, path),
        )


def judge_jobs(oracle: Oracle, sets: Sequence[OracleSet], processes: int) -> Iterator[JobScore]:
    """Yield the scores of every job."""
    return in_processes(_Judge(oracle), sets, processes)


def _rows(path: pd.DataFrame) -> Iterator[Row]:
    """Yield the path on the first rank's clock."""
    columns = (path[name].astype("Int64").fillna(-1).tolist() for name in _PATH_COLUMNS[:4])
    for start, end, rank, index in zip(*columns, strict=True):
        yield start, end, None if index < 0 else (rank, index)


def _as_one(rows: Iterable[Row], same: Mapping[At, At]) -> list[Row]:
    """Give the rows one name for what several ranks do together."""
    return [(start, end, None if at is None else same.get(at, at)) for start, end, at in rows]


def _late_rank(job: Job) -> int | None:
    meetings = job.model.meetings
    if meetings is None or not len(meetings):
        return None
    waited = member_times(job.model, meetings).waited_once
    last = job.model.events.rank[meetings.event[meetings.is_last]]
    caused = np.bincount(last[meetings.member_of], waited)
    return int(caused.argmax()) if caused.any() else None


def _errors(job: Job, total_us: float, true_us: dict[str, float]) -> Iterator[tuple[str, float]]:
    """Yield for each gain predicted minus true, as a share of the makespan."""
    graph = graph_of(job.model)
    questions = {
        NO_STRAGGLERS: (Question(assume=(NO_STRAGGLERS,), overhead="none"), "no_straggler"),
        INFINITE_BANDWIDTH: (Question(assume=(INFINITE_BANDWIDTH,), overhead="none"), "comm_free"),
    }
    if _STRAGGLER in {str(name) for name in graph.calls.name.values}:
        question = Question(remove=(f"under={_STRAGGLER}",), overhead="none")
        questions["remove"] = (question, f"under:{_STRAGGLER}")
    for name, (question, key) in questions.items():
        gain = answer(graph, name, question).prediction.corrected
        yield name, gain.gain_ns / 1000 / total_us - (total_us - true_us[key]) / total_us


def describe_jobs(found: Sequence[JobScore]) -> str:
    """Write the Markdown: how many meet the goal, and the worst of each machine and number of ranks."""
    groups: dict[tuple[str, str, str], list[JobScore]] = {}
    for one in found:
        words = one.of.scenario.split()
        lags = "random" if JITTER in one.of.variant else "constant"
        groups.setdefault((words[1], words[3], lags), []).append(one)
    rows = [[*key, *_row(group)] for key, group in groups.items()]
    gains = [(one, error) for one in found for error in one.errors.values()]
    near = sum(abs(error) <= one.bound for one, error in gains)
    late = [one for one in found if one.straggler is not None]
    below = [one for one in found if not one.path_met]
    named = sum(one.late == one.straggler for one in late)
    intro = (
        f"{len(found)} jobs, {sum(one.met for one in found)} of them meet every goal: recall and overlap of "
        f"{_PATH_GOAL} or more, offsets within {_OFFSET_GOAL_NS // 1000} µs, the late rank named ({named} of "
        f"{len(late)}), gains within {100 * GOAL:g} % of the makespan, {100 * GOAL_WITH_JITTER:g} % with "
        f"random lags ({near} of {len(gains)}). Of the {len(below)} whose path is below the goal, in "
        f"{sum(one.told_missed <= 1 - _PATH_GOAL for one in below)} that is since no file says which of two "
        "causes that came in the same ns it was, or what a rank does after its last row where the run ends "
        "in that: without it they are not below it."
    )
    columns = [
        "simulation",
        "ranks",
        "lags",
        "met",
        "lowest recall",
        "lowest overlap",
        "largest offset error",
    ]
    return f"{intro}\n\n{table([*columns, *_QUESTIONS], rows)}"


_QUESTIONS = ("remove", NO_STRAGGLERS, INFINITE_BANDWIDTH)


def _row(group: Sequence[JobScore]) -> list[str]:
    worst = [
        max((one.errors[name] for one in group if name in one.errors), key=abs, default=0.0)
        for name in _QUESTIONS
    ]
    return [
        f"{sum(one.met for one in group)} of {len(group)}",
        f"{min(one.recall for one in group):.4f}",
        f"{min(one.overlap for one in group):.4f}",
        f"{max(one.offset_error_ns for one in group):,} ns",
        *(f"{100 * error:+.2f} %" for error in worst),
    ]
