"""The words of an answer to a what-if question, for the terminal and for a card."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tracegraph.ingest.what_if.graph.overhead import Overhead
from tracegraph.ingest.what_if.predictions.gains import Gain
from tracegraph.ingest.what_if.predictions.replays import NAIVE
from tracegraph.ingest.what_if.predictions.results import CORRECTED
from tracegraph.vocabulary.categories import names_of
from tracegraph.workbench.sections.blocks import Fact
from tracegraph.workbench.text.names import readable
from tracegraph.workbench.text.text import format_ns, format_share, format_times, label

if TYPE_CHECKING:
    from tracegraph.workbench.what_if.answer import WhatIf

NAME_CELLS = 60
"""How many cells a name may take before it is shortened."""
MOST_NAMES = 8
"""How many matched names are listed; of the rest only the number is said."""
PREDICTED = "predicted"
"""The word of the first fact, the answer itself."""
_BASES = {CORRECTED: "corrected", NAIVE: "as recorded"}
_MUCH_UNRECORDED = 0.05
"""From this share of the window (0..1) on, the answer mentions work that is not in the file. The share from
which the integrity section makes it a warning (`unrecorded_path`)."""


def headline(found: "WhatIf") -> str:
    """Say what was asked about what; names in it are as given."""
    where = "the run" if found.question.step is None else f"step {found.question.step}"
    return f"{found.run}: {where} {found.question}"


def answer_facts(found: "WhatIf") -> Iterator[Fact]:
    """Say what is predicted, in which range, what it rests on and what it cannot tell."""
    predicted = found.prediction
    yield Fact(PREDICTED, f"{_said(predicted.corrected)}, {_BASES[predicted.basis]}")
    low, high = predicted.low, predicted.high
    gains = f"gain {format_ns(low.gain_ns)} to {format_ns(high.gain_ns)}"
    yield Fact("range", f"{format_times(low.speedup)} to {format_times(high.speedup)} times as fast, {gains}")
    if predicted.wide:
        yield Fact("", f"so wide because {predicted.wide}")
    yield Fact("naive", f"{_said(predicted.naive)}, as recorded")
    yield Fact("recording", _overhead(found))
    inferred = format_share(predicted.inferred_share)
    yield Fact("inferred", f"{inferred} of the gain hangs on inferred dependencies")
    for text in found.assumptions:
        yield Fact("assumed", text)
    window = found.graph.window
    if found.unrecorded_ns >= _MUCH_UNRECORDED * (window.end - window.start):
        lost = f"{format_ns(found.unrecorded_ns)} of the path is work that is not in the file"
        yield Fact("cannot tell", f"{lost}; what is changed here may be among it and then gain more")


def critical_then(found: "WhatIf") -> Fact | None:
    """Name what determines the length after the change; None if nothing with a name does."""
    shown = readable(str(row["name"]) for row in found.prediction.following)
    names = ", ".join(label(name, NAME_CELLS) for name in shown.values())
    return Fact("critical then", names) if names else None


def ns_per_event(overhead: Overhead) -> dict[str, int]:
    """Return the cost of recording an event by category, ns."""
    return {
        category: round(cost.total_ns)
        for role, cost in overhead.of_role.items()
        for category in names_of(role)
    }


def _said(gain: Gain) -> str:
    after = f"{format_ns(gain.base_ns)} become {format_ns(gain.predicted_ns)}"
    return f"{after}: {format_times(gain.speedup)} times as fast, gain {format_ns(gain.gain_ns)}"


def _overhead(found: "WhatIf") -> str:
    overhead = found.prediction.overhead
    if not overhead.of_role:
        return f"cost of recording: {overhead.method} taken off"
    costs = ", ".join(f"{ns} ns a {category}" for category, ns in ns_per_event(overhead).items())
    return f"{format_ns(found.prediction.overhead_ns)} taken off before and after, {overhead.method}: {costs}"
