"""Shows the first screen of a report in the terminal, in at most `MOST_LINES` lines."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.text import Text

from tracegraph.base.units import short_ns
from tracegraph.cli.reporters.first_screen import FirstScreen
from tracegraph.cli.reporters.layout import TONE_STYLES, facts, indented, print_command, table
from tracegraph.cli.reporters.stack import MOST_ROWS, stack_bar
from tracegraph.workbench.findings.first_fix import Row
from tracegraph.workbench.sections.blocks import Fact
from tracegraph.workbench.text.text import format_share, label, plural, visible

if TYPE_CHECKING:
    from tracegraph.workbench.output.folder import Written

MOST_LINES = 40
"""How many lines the first screen has at most, 100 cells wide."""
_FACT_LINES = 5
"""How many lines a fact may take before it is shortened; the longest of a verdict take that many."""
_WORD_CELLS = 17
"""How many cells the words before the facts take at most, with the spaces around them."""
_USUAL_CELLS = 100
"""The width of the terminal, in cells, for which these are chosen."""
_TITLE_CELLS = 48
_PATH_CELLS = 60
_FEWEST_FIXES, _MOST_FIXES = 3, 6
"""For fewer fixes than the first the table of parts is shortened; at most the second are shown."""
_ROOMS = ((MOST_ROWS, True), (MOST_ROWS, False), (3, False))
"""How many rows the table of parts has, and whether a remark stands below it: the first that leave room."""
_AFTER_FIXES = 9
"""How many lines stand below the table of fixes: its remarks and the files."""


def print_first(console: Console, shown: FirstScreen, *, is_written: bool = False) -> None:
    """Print the first screen; with `is_written`, files with everything else follow."""
    wanted = min(_FEWEST_FIXES, len(shown.fixes))
    tried = (Group(*_above(shown, console.width, *room)) for room in _ROOMS)
    above = next((one for one in tried if _left(console, one) >= wanted), None)
    above = above or Group(*_above(shown, console.width, *_ROOMS[-1]))
    console.print(above)
    count = min(len(shown.fixes), max(1, min(_left(console, above), _MOST_FIXES)))
    if count:
        console.print(indented(_fixes(shown.fixes[:count])))
        if shown.together and count > 1:
            console.print(indented(Text(shown.together, style="dim")))
        print_command(console, f"  predict the first with: {visible(shown.fixes[0]['command'])}")
    console.print(Text(_more(len(shown.fixes) - count, is_written=is_written), style="dim"))


def _left(console: Console, above: RenderableType) -> int:
    """Count the lines that are left for fixes."""
    return MOST_LINES - len(console.render_lines(above)) - _AFTER_FIXES


def _above(shown: FirstScreen, width: int, rows: int, with_note: bool) -> Iterator[RenderableType]:
    """Yield all that stands above the table of fixes, with a table of parts that has `rows` rows."""
    yield Text(shown.title, style="bold")
    for heading, known in shown.facts:
        yield Text()
        yield Text(visible(heading), style="bold")
        yield indented(_grid(known, width))
    if shown.made_of is not None:
        yield Text()
        yield Text(f"What the {short_ns(shown.made_of.whole_ns)} of the path are made of", style="bold")
        yield indented(stack_bar(shown.made_of, width, rows))
        if shown.made_of.note and with_note:
            yield indented(Text(shown.made_of.note, style="dim"))
    yield Text()
    if shown.fixes:
        yield Text("What to do about the run, and what each fix gains alone", style="bold")


def _grid(known: Sequence[Fact], width: int) -> RenderableType:
    # A narrow terminal has more lines of a sentence, not less of it.
    lines, cells = facts(), _FACT_LINES * (max(_USUAL_CELLS, width) - _WORD_CELLS)
    for fact in known:
        lines.add_row(fact.word, Text(label(fact.text, cells), style=TONE_STYLES[fact.tone]))
    return lines


def _fixes(fixes: Sequence[Row]) -> RenderableType:
    rows = table("fix", ">gain", ">of the run", ">at least", ">at most")
    for fix in fixes:
        gains = (short_ns(fix[name]) for name in ("low_ns", "high_ns"))
        share = format_share(fix["gain_ns"] / max(1, fix["base_ns"]))
        rows.add_row(Text(label(fix["title"], _TITLE_CELLS)), short_ns(fix["gain_ns"]), share, *gains)
    return rows


def _more(hidden: int, *, is_written: bool) -> str:
    """Say what the first screen leaves out, such as further fixes, and how to see it."""
    seen = f", with {plural(hidden, 'more fix', 'more fixes')}" if hidden else ""
    files = "" if is_written else "; -o FOLDER writes them as a page and files"
    return f"-v shows every section{seen}{files}."


def _by_reason(left_out: Mapping[str, str]) -> Mapping[str, list[str]]:
    """Group the files that were left out by the reason, in their order."""
    found: dict[str, list[str]] = {}
    for name, reason in left_out.items():
        found.setdefault(reason, []).append(name)
    return found


def print_written(console: Console, folder: Path, written: "Written", *, every: bool = False) -> None:
    """Print which files were written into a folder; with `every` each table by its name."""
    tables = [name for name in written.files if name.endswith(".csv")]
    named = [name for name in written.files if every or name not in tables]
    counted = [] if every or not tables else [f"{plural(len(tables), 'table')} as CSV"]
    place = visible(str(folder)) if every else label(str(folder), _PATH_CELLS)
    console.print(Text("Files", style="bold"))
    console.print(Text(f"  in {place}: {', '.join([*named, *counted])}"))
    for reason, names in _by_reason(written.left_out).items():
        more = f" and {plural(len(names) - 1, 'more file')} are" if len(names) > 1 else " is"
        console.print(Text(f"  {names[0]}{more} left out: {visible(reason)}", style="yellow"))
