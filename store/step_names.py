"""The name by which the profiler marks a step: `ProfilerStep#N`."""

import re

STEP_PREFIX = "ProfilerStep#"
"""What the name of each step's annotation begins with."""
_STEP = re.compile(STEP_PREFIX + r"(\d{1,18})")


def step_number(name: str) -> int | None:
    """The N of an annotation that is named as a step, None for any other name."""
    found = _STEP.fullmatch(name)
    return int(found[1]) if found else None
