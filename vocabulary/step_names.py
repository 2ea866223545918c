"""How steps are marked: by the profiler's `ProfilerStep#N`, or by annotations that a user names."""

import re
from collections.abc import Iterable

STEP_PREFIX = "ProfilerStep#"
"""What the name of each step's annotation begins with, and the one name that all of them count as."""
_STEP = re.compile(STEP_PREFIX + r"(\d{1,18})")


def step_number(name: str) -> int | None:
    """Return the N of an annotation that is named as a step, None for any other name."""
    found = _STEP.fullmatch(name)
    return int(found[1]) if found else None


def marked_by(marker: str) -> re.Pattern[str]:
    """Return what the names of annotations match that a marker, a glob of `*` and `?`, makes steps."""
    parts = {"*": ".*", "?": "."}
    return re.compile("".join(parts.get(letter, re.escape(letter)) for letter in marker), re.DOTALL)


def counted_as(names: Iterable[str], steps: Iterable[tuple[str, str]]) -> dict[str, str]:
    """For each of the names that marks a step the one name that all steps are counted under.

    `steps`: the name of each step, and its marker.
    """
    marked = dict(steps)
    found = {name: marked.get(name, STEP_PREFIX if step_number(name) is not None else "") for name in names}
    return {name: text for name, text in found.items() if text}
