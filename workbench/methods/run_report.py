"""A report that can be saved: the findings about a window of a run, and what to try next."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING

from tracegraph.base.progress import Progress, silent
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.findings.recommendations import Recommendation, recommend
from tracegraph.workbench.text.text import format_ns

# Most reports are printed: what writes files and cards is imported where it is used.
# ruff: noqa: PLC0415
if TYPE_CHECKING:
    from tracegraph.workbench.output.folder import Written


@dataclass(frozen=True)
class Report:
    """The findings about a window of a run, and what to try next."""

    findings: Findings
    progress: Progress = silent

    @cached_property
    def recommendations(self) -> Sequence[Recommendation]:
        """What to try next, the largest share first."""
        return recommend(self.findings)

    def _repr_html_(self) -> str:
        from tracegraph.workbench.notebook.cards import report_card

        return report_card(self.findings)

    def __repr__(self) -> str:
        return f"<Report on {self.findings.title}: {format_ns(self.findings.length_ns)}>"

    def summary(self) -> dict[str, object]:
        """Return the numbers of the report, as in summary.json; times in ns, shares 0..1."""
        from tracegraph.workbench.output.summary import summarise

        return summarise(self.findings)

    def save(self, folder: str | PathLike[str]) -> "Written":
        """Write the files of `tracegraph report --output` into a folder; return what is there now.

        Raises
        ------
        InputError
            The folder has no name, or cannot be written.
        """
        from tracegraph.workbench.output.folder import named_folder, write_folder

        return write_folder(self.findings, named_folder(folder), self.progress)
