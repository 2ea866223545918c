"""Names of files: which may be traces, and an order in which rank 2 comes before rank 10."""

import re

from tracegraph.ingest.readers.registry import FORMATS

_DIGITS = re.compile(r"(\d+)", re.ASCII)
_OWN = re.compile(r"overlay(_rank\d+)?\.json\.gz|summary\.json|what_if\.json|predicted\.json\.gz", re.ASCII)
"""Files that `report -o` and `what-if -o` leave in a folder, and that are not ranks of a job."""


def trace_suffixes() -> tuple[str, ...]:
    """List how names of traces end, in any format."""
    suffixes = {suffix for form in FORMATS for suffix in form.suffixes}
    return tuple(sorted(suffixes))


def may_be_trace(name: str) -> bool:
    """Tell whether a file of this name in a folder may be a trace: not hidden, and not an output of ours."""
    return name.endswith(trace_suffixes()) and not name.startswith(".") and not _OWN.fullmatch(name)


def natural(text: str) -> list[tuple[int, int, str]]:
    """Make a key that sorts the numbers in texts by their value."""
    parts = _DIGITS.split(text)
    return [(1, int(part), part) if k % 2 else (0, 0, part) for k, part in enumerate(parts)]
