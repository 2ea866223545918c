"""What a trace tells of memory beyond its blocks, in words and a table: step, phase, labels."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracegraph.base.units import format_bytes
from tracegraph.vocabulary.memory import FROM_BEFORE, TIMELINE, TRACE
from tracegraph.workbench.sections.blocks import Block, Column, Table, Words

if TYPE_CHECKING:
    from tracegraph.ingest.companions.memory.recording import Recording

_MOST_LABELS = 20
_LABELS = (
    Column("name", "annotation"),
    Column("_after_ns", "begins after", "duration"),
    Column("start_bytes", "at its start", "bytes"),
    Column("peak_bytes", "at most", "bytes"),
    Column("end_bytes", "at its end", "bytes"),
)
_BY_PYTORCH = "The file holds PyTorch's own classes."
_INFERRED = "A {} does not hold classes: they are inferred, each by the rule that is said beside it."
_NOT_COUNTED = (
    "The profiler counts the CPU's memory from its own start: what was allocated before is in no number here."
)
_LEFT_BEFORE = (
    "The profiler counts the CPU's memory from its first start in a process: what is from before this "
    "recording was allocated in an earlier one, and may be free since."
)
_LACKS = 0.01
"""If the blocks lack more than this share, 0..1, of what the rows state, that is said. Chosen by eye: a
smaller one would say it of recordings that hold all but a few blocks."""
_LACKING = (
    " Its rows count up to {} in use: some are not in the file, or do not tell addresses apart, so that what "
    "fills the rest, and when most is in use, is not known."
)
_NO_MODULES = (
    "Checkpointing is not among them: the trace has no calls of modules. with_stack=True records them."
)


def place_of_peak(recording: "Recording") -> str:
    """Say in which step and phase the peak lies: `, in ProfilerStep#3, in forward`; nothing if unknown."""
    found = [recording.peak_step, recording.peak_phase]
    if recording.lives is not None and recording.kind != TRACE:
        steps, place = recording.lives.steps, recording.peak.place
        found = [*steps["name"][(steps["begin"] <= place) & (steps["end"] >= place)]] or found
    return "".join(f", in {name}" for name in found if name)


def class_note(recording: "Recording") -> str:
    """Say how the classes of a recording are known, and what is in none of them."""
    if recording.kind == TIMELINE:
        return _BY_PYTORCH
    told = _INFERRED.format(recording.kind)
    stated = None if recording.lives is None else recording.lives.stated_bytes
    if stated is not None and stated - recording.peak.bytes > _LACKS * stated:
        told += _LACKING.format(format_bytes(stated))
    if recording.kind != TRACE or recording.device is not None:
        return told
    return f"{told} {_LEFT_BEFORE if FROM_BEFORE in recording.running else _NOT_COUNTED}"


def label_blocks(recording: "Recording") -> Iterator[Block]:
    """Show what was in use at the start and end of annotations, and at most in each."""
    rows = recording.labels
    if rows.empty:
        return
    known = recording.running["at_ns"].dropna()
    first = int(known.iloc[0]) if len(known) else int(rows["start_ns"].min())
    shown = rows.nlargest(_MOST_LABELS, "peak_bytes").sort_index()
    told = shown.assign(_after_ns=(shown["start_ns"] - first).clip(lower=0))
    more = f" The {len(shown)} with most of {len(rows):,} are shown." if len(shown) < len(rows) else ""
    yield Table(told, _LABELS, f"Memory in use around and in annotations, by time:{more}")


def missing_modules(recording: "Recording") -> Iterator[Block]:
    """Say why checkpointing is not offered for a trace without stacks."""
    lives = recording.lives if recording.kind == TRACE else None
    if lives is not None and not any(stack.module for stack in lives.stacks.values()):
        yield Words(_NO_MODULES)
