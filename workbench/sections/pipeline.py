"""What the stages of a pipeline do when, and their bubble beside that of schedules with even stages."""

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from tracegraph.queries.shapes.parallel.pipeline_timeline import COMPUTING, TRANSFER, WAITING
from tracegraph.vocabulary.kernel_types import COMMUNICATION, COMPUTATION
from tracegraph.vocabulary.phases import BACKWARD, FORWARD
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import Block, Column, Plot, Table, Words, filled
from tracegraph.workbench.sections.gpu_time import COLOURS, IDLE
from tracegraph.workbench.sections.section import OTHERS, Parameters, Scope, Section
from tracegraph.workbench.text.text import format_ns, format_share, plural

_COLOURS = {
    FORWARD: "#4878a8",
    BACKWARD: COLOURS[COMPUTATION],
    COMPUTING: COLOURS[COMPUTATION],
    TRANSFER: COLOURS[COMMUNICATION],
    WAITING: COLOURS[IDLE],
}
_MOST_ROWS = 64
"""How many rows the table lists."""
_STAGES = (
    Column("stage", "stage", "number"),
    Column("rank", "rank", "number", roomy=True),
    Column("step", "step", "number"),
    Column("micro_batches", "micro-batches", "count", roomy=True),
    Column("span_ns", "span", "duration"),
    Column("forward_ns", "forward", "duration"),
    Column("backward_ns", "backward", "duration"),
    Column("transfer_ns", "transfer", "duration", roomy=True),
    Column("bubble_ns", "bubble", "duration", roomy=True),
    Column("bubble_share", "bubble", "share"),
    Column("expected_1f1b", "of even stages", "share"),
    Column("expected_interleaved", "interleaved", "share", roomy=True),
    Column("expected_zero_bubble", "ZB-H1", "share", roomy=True),
    Column("excess", "above it", "share"),
)
_NOTE = (
    "The span is from the first work of any stage to the last. Of even stages: what GPipe and 1F1B leave "
    "idle if all stages take the same time, (p - 1)/(m + p - 1) with p stages and m micro-batches. Say m "
    "with `tracegraph query pipeline -p micro_batches=8` if it is not counted right, and `-p chunks=2` of an "
    "interleaved schedule."
)
_UNKNOWN = "Transfers may be in the bubble: files do not tell when the other side of a message came."


def _content(findings: Findings) -> Sequence[Block]:
    rows, times = (findings.answers.get(name) for name in ("pipeline", "pipeline_timeline"))
    if rows is None or rows.empty:
        return []
    blocks: list[Block] = [Words(" ".join(_said(rows)))]
    if rows["is_most"].any():
        blocks.append(Words(_UNKNOWN, "note"))
    if times is not None and len(times):
        blocks.append(_schedule(times))
    return [*blocks, Table(rows.head(_MOST_ROWS), filled(rows, _STAGES), "By step and stage:", _NOTE)]


def _said(rows: pd.DataFrame) -> Iterator[str]:
    """Yield sentences on the bubble of all stages, and on the stage that has most to do."""
    stages = rows["stage"].nunique()
    lost = rows["bubble_ns"].sum() / max(rows["span_ns"].sum(), 1)
    idle = format_share(lost)
    yield f"{plural(stages, 'stage')} neither compute nor transfer for {idle} of a step (bubble)."
    known = rows[rows["expected_1f1b"].notna()]
    if len(known):
        batches = plural(int(known["micro_batches"].iloc[0]), "micro-batch", "micro-batches")
        yield f"With {batches}, even stages would lose {format_share(known['expected_1f1b'].mean())}."
    work = (rows["forward_ns"] + rows["backward_ns"].fillna(0)).groupby(rows["stage"]).mean()
    most, mean = work.idxmax(), float(work.mean())
    more = float(work.max()) / max(mean, 1.0) - 1
    if more >= _UNEVEN:
        yield (
            f"Stage {most} computes longest: {format_ns(work.max())} in a step, {format_share(more)} more "
            "than the mean; the others wait for it."
        )


_UNEVEN = 0.05
"""From which part of the mean on a stage is said to have more to do. Chosen by eye, as the threshold of the
rule `straggler`; a smaller one would call stages uneven whose kernels only scatter."""


def _schedule(times: pd.DataFrame) -> Plot:
    """Draw what each stage does over the step, from its first work on."""
    named = times.assign(
        _stage=[f"stage {stage}" for stage in times["stage"]],
        _begin_ns=times["start_ns"] - times["start_ns"].min(),
        _length_ns=times["end_ns"] - times["start_ns"],
    )
    step = times["step"].iloc[0]
    return Plot(
        "What the stages do" + ("" if pd.isna(step) else f" in step {step}, the one of middle length"),
        named,
        "stretches",
        Column("_stage", "stage"),
        Column("_length_ns", "time", "duration"),
        colour="doing",
        colours=_COLOURS,
        told=(Column("_begin_ns", "begins at", "duration"),),
        across=True,
        begin="_begin_ns",
        note="Pauses shorter than a thousandth of the step belong to the work before them.",
    )


def _asks(scope: Scope) -> Mapping[str, Parameters]:
    if not scope.drawn or scope.ranks < 2:
        return {}
    return dict.fromkeys(("pipeline", "pipeline_timeline"), scope.between)


SECTION = Section(37, "Pipeline", _content, _asks, group=OTHERS)
