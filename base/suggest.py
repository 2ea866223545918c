"""Suggestions for a name that does not exist."""

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """Return the hint `otherwise`, preceded by the known name spelt most like `name` if one is similar.

    Upper and lower case count as the same, unless names differ in nothing else.
    """
    names = list(known)
    lower = {one.lower(): one for one in reversed(names)}
    near = get_close_matches(name, names, 1) or get_close_matches(name.lower(), lower, 1)
    return f"did you mean {lower.get(near[0], near[0])}? {otherwise}" if near else otherwise
