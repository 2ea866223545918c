"""In which order the stages of a pipeline run their passes: GPipe, 1F1B, interleaved 1F1B, ZB-H1."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

FORWARD, BACKWARD, WEIGHTS = "forward", "backward", "weights"
"""A pass forward, one backward (for inputs alone where another follows for weights), and that for weights."""


@dataclass(frozen=True, order=True)
class Pass:
    """A pass of one micro-batch through one chunk of the model, of the kind `what`."""

    what: str
    batch: int
    chunk: int = 0


Order = list[Pass]


def gpipe(stage: int, stages: int, batches: int, chunks: int = 1) -> Order:
    """Run all forward passes, then all backward passes (Huang et al., GPipe, 2019)."""
    del stage, stages, chunks
    return [Pass(what, batch) for what in (FORWARD, BACKWARD) for batch in range(batches)]


def one_f_one_b(stage: int, stages: int, batches: int, chunks: int = 1) -> Order:
    """Run as many forward passes as stages follow, then backward and forward in turn (PipeDream-Flush)."""
    del chunks
    warm = min(batches, stages - stage - 1)
    return list(_in_turn(_passes(FORWARD, batches), _passes(BACKWARD, batches), warm))


def interleaved(stage: int, stages: int, batches: int, chunks: int) -> Order:
    """Run 1F1B with several chunks a stage (Narayanan et al., SC 2021, section 2.2).

    As Megatron-LM orders them: micro-batches go round in groups as large as there are stages, whose number
    divides that of the micro-batches.
    """
    groups = range(0, batches, stages)
    forward = [
        Pass(FORWARD, first + place, chunk)
        for first in groups
        for chunk in range(chunks)
        for place in range(stages)
    ]
    backward = [Pass(BACKWARD, one.batch, chunks - 1 - one.chunk) for one in forward]
    warm = min(len(forward), 2 * (stages - stage - 1) + (chunks - 1) * stages)
    return list(_in_turn(forward, backward, warm))


def zero_bubble(stage: int, stages: int, batches: int, chunks: int = 1) -> Order:
    """Run ZB-H1: 1F1B whose passes for weights come later the later the stage (Qi et al., 2023, section 2).

    The delay by as many passes as stages come before is that of PyTorch's ZB1P schedule.
    """
    order, late = [], []
    for one in one_f_one_b(stage, stages, batches, chunks):
        order.append(one)
        if one.what == BACKWARD:
            late.append(Pass(WEIGHTS, one.batch))
            if one.batch >= stage:
                order.append(late.pop(0))
    return [*order, *late]


SCHEDULES: Mapping[str, Callable[[int, int, int, int], Order]] = {
    "gpipe": gpipe,
    "1f1b": one_f_one_b,
    "interleaved": interleaved,
    "zero-bubble": zero_bubble,
}
"""The order of the passes of a stage, by the name of the schedule; of stage, stages, batches, chunks."""


def _passes(what: str, batches: int) -> Order:
    return [Pass(what, batch) for batch in range(batches)]


def _in_turn(forward: Order, backward: Order, warm: int) -> Iterator[Pass]:
    """Yield the first forward passes, then forward and backward in turn, then the rest backward."""
    yield from forward[:warm]
    for place, one in enumerate(backward):
        yield from forward[warm + place : warm + place + 1]
        yield one
