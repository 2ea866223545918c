"""Thresholds that a user sets in one file: of the checks of `health`, and of the recommendations."""

from collections.abc import Mapping
from math import inf
from pathlib import Path

from tracegraph.base.errors import InputError
from tracegraph.base.json_object import read_object
from tracegraph.base.suggest import did_you_mean
from tracegraph.workbench.findings.recommendations import RULES
from tracegraph.workbench.health.checks import ALL_CHECKS

_DEFAULTS = {rule.code: rule.threshold for rule in RULES} | {
    check.name: check.threshold for check in ALL_CHECKS
}
_COUNTS = {check.name for check in ALL_CHECKS if check.unit == "count"}


def read_thresholds(file: Path) -> dict[str, float]:
    """Read thresholds by rule or check from a file with one JSON object, such as `{"idle-gpu": 0.5}`.

    Raises
    ------
    InputError
        The file cannot be read, it names an unknown rule or check, or a threshold is not a share, 0..1, or a
        number of errors below 0.
    """
    return checked(read_object(file, "the thresholds", "are", _hint()))


def checked(thresholds: Mapping[str, object]) -> dict[str, float]:
    """Check thresholds and return them as numbers.

    Raises
    ------
    InputError
        A rule or check is unknown, or its value is not a number that it can have.
    """
    for name, value in thresholds.items():
        if name not in _DEFAULTS:
            listed = f"there are: {', '.join(_DEFAULTS)}"
            raise InputError(f"there is no rule {name!r}", did_you_mean(name, _DEFAULTS, listed))
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if name in _COUNTS and not (is_number and 0 <= float(str(value)) < inf):
            raise InputError(f"the threshold {value!r} of {name} is no number of errors", "give 0 or more")
        if name not in _COUNTS and not (is_number and 0 <= float(str(value)) <= 1):
            raise InputError(f"the threshold {value!r} of {name} is no share", "give a number from 0 to 1")
    return {rule: float(str(value)) for rule, value in thresholds.items()}


def _hint() -> str:
    rule, threshold = next(iter(_DEFAULTS.items()))
    return f'write one JSON object, such as {{"{rule}": {threshold}}}'
