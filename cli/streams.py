"""Makes the standard streams usable if they are closed, full, or unable to hold every letter."""

import codecs
import io
import os
import sys
from typing import TextIO

from tracegraph.base.errors import InputError

_PLAIN = str.maketrans("█µ×·•−–—─━’‘“”", "#ux**-----''\"\"") | {
    ord(sign): text for sign, text in (("…", "..."), ("→", "->"), ("←", "<-"), ("≤", "<="), ("≥", ">="))
}
"""How the signs of our messages are written if the stream holds only plain letters."""
_HANDLER = "tracegraph.plain"


def open_streams() -> None:
    """Make the standard streams usable; what they cannot hold is written in plain letters or as escapes.

    The descriptor of a closed stream is taken, so that no file that is opened later gets what was meant for
    the stream.

    Raises
    ------
    InputError
        Standard output is closed.
    """
    sys.stdin = sys.stdin or _nowhere(0, "r")
    sys.stderr = sys.stderr or _nowhere(2, "w")
    if sys.stdout is None:
        sys.stdout = _nowhere(1, "w")
        raise InputError("standard output is closed", "send it somewhere, such as > /dev/null")
    codecs.register_error(_HANDLER, _in_plain_letters)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None and codecs.lookup(stream.encoding).name != "utf-8":
            reconfigure(errors=_HANDLER)


def output_problem() -> OSError | None:
    """Find out why standard output cannot be written, as on a full disk; None if it can.

    It is called after a failure, when earlier output may already be lost: it tries one line break.
    """
    try:
        sys.stdout.flush()
        os.write(sys.stdout.fileno(), b"\n")
    except OSError as error:
        return error
    return None


def _nowhere(number: int, mode: str) -> TextIO:
    """Open the null device in the place of a closed stream."""
    opened = os.open(os.devnull, os.O_RDWR)
    if opened != number:
        os.dup2(opened, number)
        os.close(opened)
    return io.TextIOWrapper(io.FileIO(number, mode, closefd=False), "utf-8")


def _in_plain_letters(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    letters = error.object[error.start : error.end]
    plain = letters.translate(_PLAIN)
    return plain.encode("ascii", "backslashreplace").decode(), error.end
