"""What a section shows, independent of who renders it: words, tables, plots and more; numbers are exact."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import pandas as pd

from tracegraph.workbench.findings.recommendations import Recommendation
from tracegraph.workbench.text.text import plural

_NumberKind = Literal["duration", "share", "count", "number", "bytes", "bandwidth", "amount", "times"]
Kind = Literal["text", "prose", "name", "lines"] | _NumberKind
PlotKind = Literal["bars", "lines", "levels", "areas", "points", "curves", "stretches", "tree"]
Tone = Literal["", "good", "warning", "error", "note"]


@dataclass(frozen=True)
class Column:
    """A column of a table for people.

    `field`: the frame's column. `kind`: how its values are written: `name` is an event's, `lines` are pairs
    of words and a name, `prose` is a sentence, `duration` in ns, `share` 0..1, `count` a whole number,
    `bytes` in B, `bandwidth` in B/s, `amount` any number, shortened with the letter of its thousands,
    `times` how many times something is, with three decimals. `roomy`: left out if there is little room.
    `indent`: the field with a value's depth in a tree.
    """

    field: str
    title: str
    kind: Kind = "text"
    roomy: bool = False
    indent: str = ""

    @property
    def is_number(self) -> bool:
        """Whether the column holds numbers, which are aligned at their ends."""
        return self.kind in get_args(_NumberKind)


@dataclass(frozen=True)
class Table:
    """Rows of `frame`; `columns` are those for people.

    CSV and summary.json hold all columns of the frame except those that begin with `_`, which are texts for
    people. `bold` and `tone` name columns of the frame: which rows stand out, and in which `Tone`. `long`:
    the table may have hundreds of rows and is for a page only. `folded`: what a page says instead of the
    table until somebody opens it.
    """

    frame: pd.DataFrame
    columns: Sequence[Column]
    caption: str = ""
    note: str = ""
    bold: str = ""
    tone: str = ""
    long: bool = False
    folded: str = ""


@dataclass(frozen=True)
class Words:
    """A paragraph."""

    text: str
    tone: Tone = ""


@dataclass(frozen=True)
class Fact:
    """A word and what is known about it; `figure`: its number in short, for a page's tiles."""

    word: str
    text: str
    tone: Tone = ""
    figure: tuple[str, str] | None = None


@dataclass(frozen=True)
class Facts:
    """Facts, one on each line."""

    facts: Sequence[Fact]


@dataclass(frozen=True)
class Bars:
    """Lengths by name, ns, the longest first, as parts of `whole_ns`; `colours` by name, `#rrggbb`."""

    title: str
    lengths_ns: Mapping[str, int]
    whole_ns: int
    colours: Mapping[str, str]


@dataclass(frozen=True)
class Part:
    """A part of a whole: what it is, its length in ns and its colour, `#rrggbb`.

    `faster`: how many times as fast the whole would be without it, None where that is not known. A part of no
    length is none of the whole, but would make it faster, too.
    """

    word: str
    length_ns: int
    colour: str
    faster: float | None = None


@dataclass(frozen=True)
class Stack:
    """Parts of `whole_ns` in one bar and a table, the largest first; `note`: what is said below it."""

    parts: Sequence[Part]
    whole_ns: int
    note: str = ""

    def listed(self, most: int) -> "Stack":
        """Keep `most` parts, first those without which the whole is faster; all others are one of them."""
        if len(self.parts) <= most:
            return self
        ordered = sorted(self.parts, key=lambda one: (one.faster is None, -one.length_ns))
        named, others = ordered[: most - 1], ordered[most - 1 :]
        drawn = sum(one.length_ns > 0 for one in others)
        rest = Part(plural(drawn, "other"), sum(one.length_ns for one in others), others[0].colour)
        return replace(self, parts=sorted([*named, rest], key=lambda one: -one.length_ns))


@dataclass(frozen=True)
class Gains:
    """Fixes by what they gain of a run of `base_ns`, for a page: a picture of each range, and how to do it.

    A row has title, evidence, how, command, gain_ns, low_ns, high_ns and speedup, as in `Findings.fixes`;
    `note`: what is said below them.
    """

    rows: Sequence[Mapping[str, Any]]
    base_ns: int
    note: str = ""


@dataclass(frozen=True)
class HeatMap:
    """Numbers in a grid, a row for each of `rows` and a column for each of `columns`.

    `cells` holds the numbers row by row, None where there is none. `least` and below is drawn without colour,
    `most` and above in the strongest one. `across`, `down`: what columns and rows are.
    """

    across: str
    down: str
    columns: Sequence[str]
    rows: Sequence[str]
    cells: Sequence[Sequence[float | None]]
    least: float
    most: float
    note: str = ""

    def warmth(self, value: float | None) -> float:
        """Return how strongly a cell is coloured, 0..1."""
        if value is None or self.most <= self.least:
            return 0.0
        return min(max((value - self.least) / (self.most - self.least), 0.0), 1.0)


@dataclass(frozen=True)
class Chart:
    """What only a page draws; `draw` names the function of the page's script, which gets `data`."""

    draw: str
    data: Mapping[str, object] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True)
class Plot:
    """Rows drawn as `kind`, `y` over `x`.

    Bars of the same `x` are stacked. Lines need numbers in `x`; levels are lines that stay at a `y` until the
    next `x`; areas are levels that are stacked, and each `x` has a row of every colour. Points need numbers
    above 0, since both their axes are logarithmic. Curves are lines over numbers above 0, whose axis is
    logarithmic, with their points; `between`: the fields with the least and the most that a point may be.
    Stretches lie in a row for each `x`; each begins at the field `begin` and is as long as its `y`. A tree
    draws `x` as areas as large as `y`, inside areas of the fields `within`, the outermost first.

    `title` says what the plot shows, also to those who cannot see it. `colour`: the field whose values are
    drawn in different colours, and `colours` which ones: a `Tone` or `#rrggbb` by value, in the legend's
    order. `marks`: lines across the plot, each a text and its value in `y`. `told`: what else is said about a
    row. `across`: bars lie, so that there is room for names. `size`: for points, the field that their areas
    grow with. `roofs`: lines behind points, each a text and its corners. `spans`: stretches of the plot from
    one `x` to another, each with a text.
    """

    title: str
    frame: pd.DataFrame
    kind: PlotKind
    x: Column
    y: Column
    colour: str = ""
    colours: Mapping[str, str] = field(default_factory=dict)
    marks: Mapping[str, int | float] = field(default_factory=dict)
    told: Sequence[Column] = ()
    across: bool = False
    note: str = ""
    size: str = ""
    roofs: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    spans: Sequence[tuple[str, int, int]] = ()
    between: tuple[str, str] | None = None
    begin: str = ""
    within: Sequence[str] = ()

    @property
    def columns(self) -> Sequence[Column]:
        """All columns that the plot shows of its rows."""
        return (self.x, self.y, *self.told)


@dataclass(frozen=True)
class Advice:
    """What to try, each with the number and the threshold behind it; `more`: how many are left out."""

    found: Sequence[Recommendation]
    more: int = 0

    def first(self, count: int) -> "Advice":
        """Keep the first pieces, and count the others."""
        return Advice(self.found[:count], self.more + max(0, len(self.found) - count))


def filled(frame: pd.DataFrame, columns: Sequence[Column]) -> Sequence[Column]:
    """Keep the columns for which any row has a value."""
    return [one for one in columns if frame[one.field].notna().any()]


def exact_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Keep the columns that are not for people only."""
    return frame[[name for name in frame.columns if not str(name).startswith("_")]]


Block = Words | Facts | Table | Bars | Stack | Gains | HeatMap | Plot | Chart | Advice
