"""How much of the ranks of a job is kept."""

from tracegraph.base.errors import InputError

FULL, PATH = "full", "path"
DETAILS = (FULL, PATH)
"""All of each rank, or all of those that the critical path is about and the operations of the others."""


def known_detail(detail: str) -> str:
    """Return a level of detail; InputError says which levels there are."""
    if detail not in DETAILS:
        raise InputError(f"{detail!r} is not a level of detail", f"use one of: {', '.join(DETAILS)}")
    return detail
