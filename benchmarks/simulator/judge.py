"""What-if of pipelines against the simulation repeated with the change, and bubbles against formulas."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.accuracy.markdown import table
from benchmarks.simulator.kineto import write_job
from benchmarks.simulator.pipeline import COMPUTES, Job, simulate, span_ns
from benchmarks.simulator.schedules import SCHEDULES
from tracegraph.ingest.ranks.job import build_job
from tracegraph.ingest.ranks.rank_part import read_all_parts
from tracegraph.ingest.sources.source import as_source
from tracegraph.ingest.what_if.graph.graph import ReplayGraph, graph_of
from tracegraph.queries.shapes.parallel.pipeline import zero_bubble
from tracegraph.workbench.what_if.answer import Question, answer

GOAL = 0.01
"""The largest error of a predicted length, as a share of the simulated one."""
_SHORTEST_NS, _LONGEST_NS = 500_000, 2_000_000
SHORTER, LONGER, BALANCED = "a stage half as long", "a stage 1.3 times as long", "--rebalance"


@dataclass(frozen=True)
class Score:
    """A simulated job: lengths of its run before and after each change as predicted and simulated, ns."""

    job: Job
    bubble: float
    expected: float
    lengths: dict[str, tuple[int, int]]

    def error(self, question: str) -> float:
        """Return predicted by simulated length, less 1."""
        said, true = self.lengths[question]
        return said / true - 1


def graph_of_job(job: Job) -> ReplayGraph:
    """Simulate a job, write its files, and read them as those of any other job."""
    with tempfile.TemporaryDirectory() as folder:
        files = write_job(job, simulate(job), Path(folder))
        parts = [part for file in files for part in read_all_parts(as_source(file))]
        return graph_of(build_job(parts).model)


def length_ns(job: Job) -> int:
    """Return the length of the whole run, from the first call of a host to the last, ns."""
    return max(rank.steps[-1][1] for rank in simulate(job))


def expected_bubble(job: Job) -> float:
    """Return the bubble of even stages by the formula of its schedule, as `pipeline` tells them, 0..1."""
    others = job.stages - 1
    if job.schedule == "zero-bubble":
        forward, backward = (job.batches * sum(times) for times in (job.forward_ns, job.backward_ns))
        return zero_bubble(job.stages, job.batches, forward, backward)
    return others / (job.chunks * job.batches + others)


def bubble(job: Job) -> float:
    """Return the part of the last step in which its stages do not compute, the mean of all, 0..1."""
    ranks, start = simulate(job), simulate(job)[0].steps[-1][0]
    span = span_ns(ranks, -1)
    work = [
        sum(one.end - one.start for one in rank.kernels if one.what == COMPUTES and one.start >= start)
        for rank in ranks
    ]
    return 1 - sum(work) / len(work) / span


def scaled(job: Job, factors: Sequence[float]) -> Job:
    """Make a job of which each stage computes longer or shorter by a factor."""
    forward, backward = (
        [round(time * factor) for time, factor in zip(times, factors, strict=True)]
        for times in (job.forward_ns, job.backward_ns)
    )
    return replace(job, forward_ns=forward, backward_ns=backward)


def judge(job: Job) -> Score:
    """Ask what a stage that computes shorter or longer gains, and what balanced stages do."""
    graph = graph_of_job(job)
    time = [forward + back for forward, back in zip(job.forward_ns, job.backward_ns, strict=True)]
    most = int(np.argmax(time))
    lengths = {}
    for name, factor in ((SHORTER, 0.5), (LONGER, 1.3)):
        question = Question(scale=((factor, f"rank={most},category=kernel,stream=7"),), overhead="none")
        again = scaled(job, [factor if stage == most else 1.0 for stage in range(job.stages)])
        lengths[name] = _predicted(graph, question), length_ns(again)
    question = Question(fixes=(("rebalance", "category=kernel"),), overhead="none")
    balanced = scaled(job, [float(np.mean(time)) / one for one in time])
    lengths[BALANCED] = _predicted(graph, question), length_ns(balanced)
    return Score(job, bubble(job), expected_bubble(job), lengths)


def _predicted(graph: ReplayGraph, question: Question) -> int:
    return answer(graph, "pipeline", question).prediction.naive.predicted_ns


def jobs(seeds: Sequence[int]) -> Iterator[Job]:
    """Yield jobs of 2, 4 and 8 stages of every schedule: even ones, and for each seed uneven ones."""
    for schedule in SCHEDULES:
        for stages in (2, 4, 8):
            for batches in (stages, 4 * stages):
                chunks = 2 if schedule == "interleaved" else 1
                even = Job(schedule, batches, [1_000_000] * stages, [2_000_000] * stages, chunks)
                yield even
                for seed in seeds:
                    drawn = np.random.default_rng(seed).integers(_SHORTEST_NS, _LONGEST_NS, stages).tolist()
                    yield replace(even, forward_ns=drawn, backward_ns=[2 * one for one in drawn])


def describe(found: Sequence[Score]) -> str:
    """Write the Markdown: how many predictions are within the goal, and the worst of each kind of job."""
    errors = [one.error(name) for one in found for name in one.lengths]
    near = sum(abs(error) <= GOAL for error in errors)
    intro = (
        f"{len(found)} jobs; {near} of {len(errors)} predicted lengths are within {100 * GOAL:g} % of the "
        f"simulation with the change, the worst is off by {100 * max(map(abs, errors)):.3f} %."
    )
    groups: dict[tuple[str, int], list[Score]] = {}
    for one in found:
        groups.setdefault((one.job.schedule, one.job.stages), []).append(one)
    rows = [[*key, *_row(group)] for key, group in groups.items()]
    columns = [
        "schedule",
        "stages",
        "jobs",
        "bubble of even stages, largest deviation",
        SHORTER,
        LONGER,
        BALANCED,
    ]
    return f"{intro}\n\n{table(columns, rows)}"


def _row(group: Sequence[Score]) -> list[str]:
    even = [one for one in group if len(set(one.job.forward_ns)) == 1]
    off = max((abs(one.bubble - one.expected) for one in even), default=0.0)
    worst = [max((one.error(name) for one in group), key=abs) for name in (SHORTER, LONGER, BALANCED)]
    return [str(len(group)), f"{100 * off:.3f} points", *(f"{100 * error:+.3f} %" for error in worst)]
