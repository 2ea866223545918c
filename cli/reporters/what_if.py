"""The answer of `tracegraph what-if` in the terminal."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tracegraph.cli.reporters.layout import facts, indented, table
from tracegraph.ingest.what_if.predictions.gains import Gain
from tracegraph.ingest.what_if.predictions.predict import CORRECTED, NAIVE
from tracegraph.workbench.text.names import readable
from tracegraph.workbench.text.text import format_ns, format_share, format_times, label, plural, visible
from tracegraph.workbench.what_if.answer import WhatIf, ns_per_event

_NAME_CELLS = 60
_MOST_NAMES = 8
_BASES = {CORRECTED: "corrected", NAIVE: "as recorded"}
_MUCH_UNRECORDED = 0.05


def print_what_if(
    console: Console, found: WhatIf, folder: Path | None, files: Sequence[str], kept: str | None = None
) -> None:
    """Print the prediction first, then what it is about and what it rests on; `kept`: as which run."""
    predicted = found.prediction
    where = "the run" if found.question.step is None else f"step {found.question.step}"
    console.print(Text(f"{visible(found.run)}: {where} {visible(str(found.question))}", style="bold"))
    lines = facts()
    basis = _BASES[predicted.basis]
    lines.add_row("predicted", Text(f"{_said(predicted.corrected)}, {basis}", style="bold"))
    low, high = predicted.low, predicted.high
    gains = f"gain {format_ns(low.gain_ns)} to {format_ns(high.gain_ns)}"
    lines.add_row(
        "range", f"{format_times(low.speedup)} to {format_times(high.speedup)} times as fast, {gains}"
    )
    if predicted.wide:
        lines.add_row("", f"so wide because {predicted.wide}")
    lines.add_row("naive", f"{_said(predicted.naive)}, as recorded")
    lines.add_row("recording", _overhead(found))
    lines.add_row(
        "inferred", f"{format_share(predicted.inferred_share)} of the gain hangs on inferred dependencies"
    )
    for text in found.assumptions:
        lines.add_row("assumed", text)
    window = found.graph.window
    if found.unrecorded_ns >= _MUCH_UNRECORDED * (window.end - window.start):
        lost = f"{format_ns(found.unrecorded_ns)} of the path is work that is not in the file"
        lines.add_row("cannot tell", f"{lost}; what is changed here may be among it and then gain more")
    console.print(indented(lines))
    _print_matched(console, found)
    for note in found.notes:
        console.print(indented(Text(note)))
    if predicted.following:
        shown = readable(str(row["name"]) for row in predicted.following)
        names = ", ".join(label(name, _NAME_CELLS) for name in shown.values())
        console.print(indented(Text(f"critical then: {names}")))
    if folder is not None:
        console.print(indented(Text(f"in {visible(str(folder))}: {', '.join(files)}")))
    if kept is not None:
        console.print(indented(Text(f"kept as the run {visible(kept)}, at the naive times")))


def _said(gain: Gain) -> str:
    after = f"{format_ns(gain.base_ns)} become {format_ns(gain.predicted_ns)}"
    return f"{after}: {format_times(gain.speedup)} times as fast, gain {format_ns(gain.gain_ns)}"


def _overhead(found: WhatIf) -> str:
    overhead = found.prediction.overhead
    if not overhead.of_role:
        return f"cost of recording: {overhead.method} taken off"
    costs = ", ".join(f"{ns} ns a {category}" for category, ns in ns_per_event(overhead).items())
    return f"{format_ns(found.prediction.overhead_ns)} taken off before and after, {overhead.method}: {costs}"


def _print_matched(console: Console, found: WhatIf) -> None:
    rows = table("matched", ">count", ">own time")
    shown = readable(one.name for one in found.matched)
    for one in found.matched[:_MOST_NAMES]:
        rows.add_row(label(shown[one.name], _NAME_CELLS), f"{one.count:,}", format_ns(one.own_ns))
    console.print(indented(rows))
    if len(found.matched) > _MOST_NAMES:
        console.print(indented(Text(f"and {plural(len(found.matched) - _MOST_NAMES, 'more name')}")))
