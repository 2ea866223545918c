"""Questions about two windows, A and B: names about B are those about A with the ending `_b`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tracegraph.queries.module import Parameter

_ENDING = "_b"
RUN = "run"
"""The parameter that names a run; `second(RUN)` names that of B."""


def second(name: str) -> str:
    """Return the name for B, such as `run_b`, of what is about A."""
    return f"{name}{_ENDING}"


def first(name: str) -> str:
    """Return the name for A, whether the given one is about A or B."""
    return name.removesuffix(_ENDING)


def about_b(parameter: Parameter) -> Parameter:
    """Return the parameter of a module that is asked again, about B."""
    return replace(parameter, name=second(parameter.name), meaning=f"{parameter.meaning}; of B")


def apart(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split values into those about A, or about neither, and those about B by the names of A's."""
    of_b = {first(name): value for name, value in values.items() if name != first(name)}
    return {name: value for name, value in values.items() if name == first(name)}, of_b


def together(of_a: Mapping[str, Any], of_b: Mapping[str, Any]) -> dict[str, Any]:
    """Join the values that `apart` split."""
    return {**of_a, **{second(name): value for name, value in of_b.items()}}
