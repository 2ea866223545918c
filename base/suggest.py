"""Suggestions for a name that does not exist."""

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """Return the hint `otherwise`, preceded by the known name spelt most like `name` if one is similar."""
    near = get_close_matches(name, list(known), 1)
    return f"did you mean {near[0]}? {otherwise}" if near else otherwise
