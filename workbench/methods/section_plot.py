"""The plots of a section, which show themselves in a notebook."""

from collections.abc import Sequence
from html import escape
from os import PathLike
from pathlib import Path

from tracegraph.base.errors import InputError
from tracegraph.queries.runs import RunWindow
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.output.page import plot_page
from tracegraph.workbench.output.plots import plot_height
from tracegraph.workbench.sections.blocks import Plot
from tracegraph.workbench.sections.section import Scope, all_sections

_AROUND = 110
"""Height of everything that a page has around a plot, px."""


class SectionPlot:
    """Plots in a page of their own that needs nothing else."""

    def __init__(self, title: str, plots: Sequence[Plot]) -> None:
        self.title, self.plots = title, tuple(plots)

    def html(self) -> str:
        """Return the page as text."""
        return plot_page(self.title, self.plots)

    def save(self, file: str | PathLike[str]) -> None:
        """Write the page into a file.

        Raises
        ------
        InputError
            The file cannot be written.
        """
        place = Path(file)
        try:
            place.write_text(self.html(), encoding="utf-8")
        except OSError as error:
            raise InputError(f"cannot write {place}: {error.strerror}", "choose another file") from error

    def _repr_html_(self) -> str:
        height = _AROUND + sum(_AROUND + plot_height(plot) for plot in self.plots)
        frame = f'sandbox="allow-scripts" title="{escape(self.title)}" width="100%" height="{height}"'
        return f'<iframe {frame} frameborder="0" srcdoc="{escape(self.html())}"></iframe>'

    def __repr__(self) -> str:
        return f"<SectionPlot {self.title}: {', '.join(plot.title for plot in self.plots)}>"


def section_plot(findings: Findings, name: str) -> SectionPlot:
    """Find the plots of the section of that name, or of those that ask the query of that name.

    Raises
    ------
    InputError
        There is no such plot; the hint lists the sections that have one.
    """
    window = RunWindow(findings.start_ns, findings.end_ns, 0)
    scope = Scope(findings.details.name, window, findings.part, drawn=True)
    sections = all_sections()
    plots = {
        place: [block for block in section.content(findings) if isinstance(block, Plot)]
        for place, section in sections.items()
    }
    asking = [place for place, section in sections.items() if name in section.asks(scope)]
    found = [plot for place in ([name] if name in sections else asking) for plot in plots[place]]
    if not found:
        there = ", ".join(place for place, drawn in plots.items() if drawn)
        known = name in sections or asking
        wrong = f"this run has nothing to plot of {name!r}" if known else f"there is no plot of {name!r}"
        raise InputError(wrong, f"there are: {there}" if there else "")
    return SectionPlot(findings.title, found)
