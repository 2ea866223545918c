"""How the report in the terminal writes the names of events: to be read, or in full, but never cut."""

from collections.abc import Iterator

from rich.text import Text

from tracegraph.workbench.names import readable
from tracegraph.workbench.report.findings import Findings
from tracegraph.workbench.text import ELLIPSIS, visible

_MOST_CHARS = 500
"""What is longer is no name that can be shortened; its end is in `--full-names`."""


class Names:
    """The names of all events that a report shows, so that no two look the same; `full`: as in the file."""

    def __init__(self, findings: Findings, *, full: bool = False) -> None:
        self._full = full
        self._texts = {} if full else readable(_shown(findings))

    def of(self, name: object) -> Text:
        """Return a name, folded where it is wider than its place."""
        return Text(self.line(name), overflow="fold")

    def line(self, name: object) -> str:
        """Return a name as one safe line of any width."""
        text = self._texts.get(str(name), str(name))
        return visible(text if self._full or len(text) <= _MOST_CHARS else text[:_MOST_CHARS] + ELLIPSIS)


def _shown(findings: Findings) -> Iterator[str]:
    second = findings.second_causes
    for frame in (findings.hotspots, findings.gaps, findings.near_critical, findings.recurring, second):
        yield from frame.get("name", ())
    yield from second["second"].dropna()
    for row in findings.what_next:
        yield from (row["name"], *(spot["name"] for spot in row["following"]))
    for row in findings.alternatives:
        yield from (spot["name"] for spot in row["hotspots"])
