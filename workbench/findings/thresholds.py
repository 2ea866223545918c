"""Thresholds of the recommendations that a user sets in a file."""

import json
from collections.abc import Mapping
from pathlib import Path

from tracegraph.base.errors import InputError
from tracegraph.workbench.findings.recommendations import RULES

_DEFAULTS = {rule.code: rule.threshold for rule in RULES}


def read_thresholds(file: Path) -> dict[str, float]:
    """Read thresholds by rule from a file with one JSON object, such as `{"idle-gpu": 0.5}`.

    Raises
    ------
    InputError
        The file cannot be read, it names an unknown rule, or a threshold is not a share, 0..1.
    """
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read the thresholds in {file}: {error}", _hint()) from error
    if not isinstance(found, dict):
        raise InputError(f"the thresholds in {file} are no JSON object", _hint())
    return checked(found)


def checked(thresholds: Mapping[str, object]) -> dict[str, float]:
    """Check thresholds and return them as numbers.

    Raises
    ------
    InputError
        A rule is unknown, or its value is not a number in 0..1.
    """
    for rule, value in thresholds.items():
        if rule not in _DEFAULTS:
            raise InputError(f"there is no rule {rule!r}", f"there are: {', '.join(_DEFAULTS)}")
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
            raise InputError(f"the threshold {value!r} of {rule} is no share", "give a number from 0 to 1")
    return {rule: float(str(value)) for rule, value in thresholds.items()}


def _hint() -> str:
    rule, threshold = next(iter(_DEFAULTS.items()))
    return f'write one JSON object, such as {{"{rule}": {threshold}}}'
