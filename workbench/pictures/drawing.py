"""Draws DOT text: by the system's `dot` if there is one, else by pygraphviz, which carries Graphviz."""

import importlib.metadata
import shutil
import subprocess
import sys
from collections.abc import Sequence

from tracegraph.base.errors import InputError, TracegraphError

FORMATS = ("svg", "png", "pdf", "dot")
_SECONDS = 120
"""After how many seconds Graphviz is given up."""
# It runs in a child process: what Graphviz and fontconfig print, or a crash, stays out of the command.
_BY_WHEEL = """
import sys, pygraphviz
source = sys.stdin.buffer.read().decode()
sys.stdout.buffer.write(pygraphviz.AGraph(string=source).draw(format=sys.argv[1], prog="dot"))
"""


def draw(dot_source: str, format: str) -> bytes:
    """Return the picture of `dot_source` as svg, png, pdf or dot (the text itself).

    Raises
    ------
    InputError
        `format` is another one.
    TracegraphError
        Graphviz fails.
    """
    if format not in FORMATS:
        raise InputError(f"no picture format {format!r}", f"choose one of {', '.join(FORMATS)}")
    if format == "dot":
        return dot_source.encode()
    program = shutil.which("dot")
    command = [program, f"-T{format}"] if program else [sys.executable, "-c", _BY_WHEEL, format]
    return _run(command, dot_source)


def drawn_by() -> str:
    """Name what draws the pictures here."""
    program = shutil.which("dot")
    return program or f"pygraphviz {importlib.metadata.version('pygraphviz')}"


def _run(command: Sequence[str], dot_source: str) -> bytes:
    try:
        done = subprocess.run(
            command, input=dot_source.encode(), capture_output=True, timeout=_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        detail = getattr(error, "stderr", None) or str(error).encode()
        reason = detail.decode(errors="replace").strip().rpartition("\n")[2]
        raise TracegraphError(
            f"the picture could not be drawn: {reason}", "run `tracegraph doctor`"
        ) from error
    return done.stdout
