"""The steps of a run that a question is about."""

from tracegraph.base.errors import InputError
from tracegraph.ingest.what_if.changes.change import Span, step_window
from tracegraph.ingest.what_if.graph.graph import ReplayGraph, StepWindow


def find_step(graph: ReplayGraph, number: int, rank: int | None = None) -> StepWindow:
    """Find the step of that number on a rank, by default on the one that ends it last.

    Raises
    ------
    InputError
        There is no such step, or it takes no time.
    """
    of_rank = [step for step in graph.steps if rank in (None, step.rank)]
    found = [step for step in of_rank if step.number == number]
    if found:
        last = max(found, key=lambda step: (step.window_end, -step.rank))
        if last.window_end <= last.start:
            raise InputError(f"step {number} of the run takes no time", "name another step")
        return last
    listed = ", ".join(map(str, sorted({step.number for step in of_rank})))
    whose = "" if rank is None else f" of rank {rank}"
    raise InputError(
        f"the run has no step {number}{whose}",
        f"present: {listed}" if listed else "its trace has no steps",
    )


def span_of_step(graph: ReplayGraph, step: StepWindow) -> Span:
    """Find the window of a step.

    Raises
    ------
    InputError
        Nothing runs in the step.
    """
    span = step_window(graph, step)
    if not span.counts.any():
        raise InputError(f"nothing runs in step {step.number}", "name another step, or none")
    return span
