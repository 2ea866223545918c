"""How much of the ranks of a job is kept."""

from tracegraph.base.errors import InputError

FULL, PATH = "full", "path"
DETAILS = (FULL, PATH)
"""All of each rank, or all of those that the critical path is about and the operations of the others."""


def known_detail(detail: str) -> str:
    """Return a detail that there is; InputError says which there are."""
    if detail not in DETAILS:
        raise InputError(f"there is no detail {detail!r}", f"give one of: {', '.join(DETAILS)}")
    return detail
