"""What somebody may have meant by a name that is not there."""

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """Return a hint that begins with the known name that is spelt most like `name`, if one is alike."""
    near = get_close_matches(name, list(known), 1)
    return f"did you mean {near[0]}? {otherwise}" if near else otherwise
