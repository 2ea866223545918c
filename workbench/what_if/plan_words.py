"""The words of a plan, for the terminal and for a card."""

from typing import TYPE_CHECKING

from tracegraph.workbench.text.text import format_ns, format_times, label, plural

if TYPE_CHECKING:
    from tracegraph.workbench.what_if.plan import Made, Plan

_NAME_CELLS = 90
"""How many cells a name may take before it is shortened."""
ENDED = "no further fix gains 1 % of the run after these"
"""Said if there are fewer fixes than were asked for."""
TOGETHER = "pays together"
"""The heading of the pairs that gain more than the sum of both."""


def headline(found: "Plan") -> str:
    """Say how long the run is before any fix."""
    return f"{found.run}: {format_ns(found.base_ns)}, without what recording cost"


def step_words(found: "Plan", count: int) -> str:
    """Say how long the run is after the best `count` fixes."""
    one = found.steps[count - 1]
    times = format_times(found.base_ns / max(one.length_ns, 1))
    return f"{plural(count, 'fix', 'fixes')}: {format_ns(one.length_ns)}, {times} times as fast"


def fixes_words(one: "Made") -> str:
    """Name the fixes and what each is made in."""
    pairs = zip(one.titles, one.selectors, strict=True)
    return "; ".join(f"{title} ({label(selector, _NAME_CELLS)})" for title, selector in pairs)


def floor_words(found: "Plan") -> str | None:
    """Say what no schedule beats; None if that is not known."""
    if not found.floors:
        return None
    floor = found.floors[0]
    length = floor["length_ns"]
    assert isinstance(length, int)
    name = label(str(floor["name"]), _NAME_CELLS)
    said = f"no other order of the work as recorded is shorter than {format_ns(length)}"
    below = bool(found.steps) and found.steps[-1].length_ns < length
    removed = "; these fixes go below, since they remove work" if below else ""
    return f"{said}: {floor['floor']}, {name}{removed}"
