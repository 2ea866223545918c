"""What was odd in the input as plain lines, for commands that print no report."""

from collections.abc import Iterable, Mapping

from tracegraph.cli.reporters.text import label

_LEVELS = ("error", "warning")
_MESSAGE_CELLS = 400


def integrity_lines(rows: Iterable[Mapping[str, object]]) -> list[str]:
    """Return `level code count message` for each row that is an error or a warning, in the given order."""
    return [
        f"{row['level']} {row['code']} {row['count']:,} {label(str(row['message']), _MESSAGE_CELLS)}"
        for row in rows
        if row["level"] in _LEVELS
    ]
