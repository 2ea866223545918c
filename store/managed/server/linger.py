"""How long the managed server stays after its last use where nobody says otherwise."""

import os

from tracegraph.base.errors import InputError

LINGER = "TRACEGRAPH_LINGER"
"""Environment variable with the minutes; 0: it ends with the command that began it."""
LINGER_MINUTES = 10.0


def linger_s() -> float:
    """Seconds, as the environment says.

    Raises
    ------
    InputError
        It says no number of minutes.
    """
    given = os.environ.get(LINGER) or LINGER_MINUTES
    try:
        minutes = float(given)
    except ValueError:
        minutes = -1.0
    if not minutes >= 0.0:
        raise InputError(f"{LINGER} is {given!r}, no number of minutes", "set it to one, such as 0 or 10")
    return 60.0 * minutes
