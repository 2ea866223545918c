"""Says what companions of a trace hold."""

from collections.abc import Mapping

from tracegraph.ingest.companions.companion import Told
from tracegraph.workbench.text.text import label

_CELLS = 120
"""How many cells a name out of a file may take."""


def told_lines(told: Mapping[str, Told]) -> list[str]:
    """Return a line for each thing that files of a kind hold, under a line with the kind."""
    lines = []
    for kind, one in told.items():
        lines.append(kind)
        lines += [f"  {what}: {_text(held)}" for what, held in one.words.items() if held or held == 0]
    return lines


def _text(held: object) -> str:
    if isinstance(held, Mapping):
        return ", ".join(f"{label(str(name), _CELLS)} ({count:,})" for name, count in held.items())
    if isinstance(held, list):
        return ", ".join(label(str(one), _CELLS) for one in held)
    return f"{held:,}" if isinstance(held, int) else label(str(held), _CELLS)
