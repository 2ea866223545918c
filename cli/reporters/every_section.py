"""The report in the terminal: any section, block by block."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import singledispatch
from itertools import chain
from typing import Any

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.text import Text

from tracegraph.cli.reporters.layout import TONE_STYLES, Command, facts, indented, print_command, table
from tracegraph.cli.reporters.stack import stack_bar
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.sections.blocks import (
    Advice,
    Bars,
    Block,
    Chart,
    Column,
    Facts,
    Gains,
    HeatMap,
    Plot,
    Stack,
    Table,
    Words,
)
from tracegraph.workbench.sections.cells import cell_text
from tracegraph.workbench.sections.section import all_sections
from tracegraph.workbench.sections.shown_names import ShownNames
from tracegraph.workbench.text.text import format_ns, format_share, label, visible

_BAR_CELLS = 20
"""The length of a bar for the whole."""
_STACK_CELLS = 94
"""The width for a bar that holds all parts of the whole."""
_KEY_CELLS = 30
"""How many cells the name of a bar may take before it is shortened."""
_INDENT = 2
"""By how many cells each level of a tree is indented."""


def print_report(console: Console, findings: Findings, *, full_names: bool = False) -> None:
    """Print every section that is not for a page only; names are readable or in full, and fold."""
    sections = [section for section in all_sections().values() if not section.page_only]
    contents = [(section.heading(findings), section.content(findings)) for section in sections]
    print_sections(console, contents, full_names=full_names)


def print_sections(
    console: Console, sections: Sequence[tuple[str, Sequence[Block]]], *, full_names: bool = False
) -> None:
    """Print headings with the blocks below them; sections without any block are left out."""
    names = ShownNames(chain.from_iterable(blocks for _, blocks in sections), full=full_names)
    for heading, blocks in sections:
        shown = list(_spaced(blocks, names))
        if shown:
            console.print(Text(visible(heading), style="bold"))
            for piece in shown:
                if isinstance(piece, Command):
                    print_command(console, f"    {piece}")
                else:
                    console.print(indented(piece))
            console.print()


def _spaced(blocks: Sequence[Block], names: ShownNames) -> Iterator[RenderableType]:
    """Render blocks with a line between them, but not between words and the table that they are about."""
    before: Block | None = None
    for block in blocks:
        shown = _render(block, names)
        if before is not None and shown and not (isinstance(before, Words) and isinstance(block, Table)):
            yield Text()
        yield from shown
        before = block if shown else before


@singledispatch
def _render(block: object, names: ShownNames) -> Sequence[RenderableType]:
    raise TypeError(f"the terminal cannot show a {type(block).__name__}")


# Python 3.10 takes no union from the annotation.
@_render.register(Chart)
@_render.register(Plot)
@_render.register(Gains)
@_render.register(HeatMap)
def _(block: Chart | Plot | Gains | HeatMap, names: ShownNames) -> Sequence[RenderableType]:
    return ()  # what it draws stands in the tables beside it


@_render.register
def _(block: Stack, names: ShownNames) -> Sequence[RenderableType]:
    bar = stack_bar(block, _STACK_CELLS)
    return (bar, Text(block.note, style="dim")) if block.note else (bar,)


@_render.register
def _(block: Words, names: ShownNames) -> Sequence[RenderableType]:
    return (Text(visible(block.text), style=TONE_STYLES[block.tone]),)


@_render.register
def _(block: Facts, names: ShownNames) -> Sequence[RenderableType]:
    lines = facts()
    for fact in block.facts:
        lines.add_row(fact.word, Text(visible(fact.text), style=TONE_STYLES[fact.tone]))
    return (lines,)


@_render.register
def _(block: Bars, names: ShownNames) -> Sequence[RenderableType]:
    rows = table(block.title, ">duration", ">share", "")
    rows.columns[0].min_width = _BAR_CELLS
    for name, length_ns in block.lengths_ns.items():
        share = length_ns / max(1, block.whole_ns)
        bar = "█" * max(1, round(share * _BAR_CELLS)) if length_ns else ""
        sizes = (format_ns(length_ns), format_share(share))
        rows.add_row(Text(label(name, _KEY_CELLS)), *sizes, Text(bar, style="blue"))
    return (rows,)


@_render.register
def _(block: Table, names: ShownNames) -> Sequence[RenderableType]:
    if block.long:
        return ()
    columns = [column for column in block.columns if not column.roomy]
    rows = table(*(f">{column.title}" if column.is_number else column.title for column in columns))
    for shown, column in zip(rows.columns, columns, strict=True):
        shown.overflow = "fold"
        shown.no_wrap = column.is_number
    for row in block.frame.to_dict("records"):
        rows.add_row(
            *(_cell(column, row, names) for column in columns),
            style=_row_style(block, row),
        )
    return (Text(block.caption), rows) if block.caption else (rows,)


def _cell(column: Column, row: Mapping[Hashable, Any], names: ShownNames) -> RenderableType:
    text = Text(cell_text(column.kind, row[column.field], names))
    return Padding(text, (0, 0, 0, _INDENT * row[column.indent])) if column.indent else text


def _row_style(block: Table, row: Mapping[Hashable, object]) -> str:
    bold = "bold" if block.bold and row[block.bold] else ""
    return TONE_STYLES[str(row[block.tone])] if block.tone else bold


@_render.register
def _(block: Advice, names: ShownNames) -> Sequence[RenderableType]:
    lines: list[RenderableType] = []
    for one in block.found:
        told = f"{visible(one.number)}."
        if one.fix is None:
            told = f"{visible(one.number)}; threshold {format_share(one.threshold)}"
        lines += [Text(one.title, style="bold yellow"), indented(Text(told)), indented(Text(one.advice))]
        if one.fix is not None:
            lines.append(Command(visible(one.fix["command"])))
    return lines
