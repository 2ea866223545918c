"""How long the managed server stays after its last use by default."""

import os

from tracegraph.base.errors import InputError

LINGER = "TRACEGRAPH_LINGER"
"""Environment variable with the minutes; with 0 the server ends with the command that began it."""
LINGER_MINUTES = 10.0
"""The default if the environment does not say."""


def linger_s() -> float:
    """Return the seconds that the environment asks for.

    Raises
    ------
    InputError
        The variable does not hold a number of minutes.
    """
    given = os.environ.get(LINGER) or LINGER_MINUTES
    try:
        minutes = float(given)
    except ValueError:
        minutes = -1.0
    if not minutes >= 0.0:
        raise InputError(f"{LINGER} is {given!r}, no number of minutes", "set it to one, such as 0 or 10")
    return 60.0 * minutes
