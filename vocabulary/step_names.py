"""The marks of steps: the profiler's `ProfilerStep#N`, or annotations that a user names."""

import re
from collections.abc import Iterable

STEP_PREFIX = "ProfilerStep#"
"""The beginning of the name of each step's annotation, and the one name that all of them count as."""
_STEP = re.compile(STEP_PREFIX + r"(\d{1,18})")


def step_number(name: str) -> int | None:
    """Return the N of an annotation that is named as a step; None for any other name."""
    found = _STEP.fullmatch(name)
    return int(found[1]) if found else None


def marked_by(marker: str) -> re.Pattern[str]:
    """Compile the pattern of the annotations that a marker, a glob of `*` and `?`, makes steps."""
    parts = {"*": ".*", "?": "."}
    return re.compile("".join(parts.get(letter, re.escape(letter)) for letter in marker), re.DOTALL)


def counted_as(names: Iterable[str], steps: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Map each of the names that marks a step to the one name under which all steps are counted.

    `steps` holds the name of each step, and its marker.
    """
    marked = dict(steps)
    found = {name: marked.get(name, STEP_PREFIX if step_number(name) is not None else "") for name in names}
    return {name: text for name, text in found.items() if text}
