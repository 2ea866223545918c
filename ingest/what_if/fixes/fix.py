"""What a fix is: how it is recognised in a run, what it changes for a replay, and what is said of it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.what_if.changes.change import Change
from tracegraph.ingest.what_if.changes.edit import Edit
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.ingest.what_if.settings import Settings
from tracegraph.vocabulary.bounds import LEAST_GAIN

_LISTED_RANKS = 3
"""More ranks than this are counted rather than listed."""


@dataclass(frozen=True)
class Scene:
    """A run in which fixes are looked for; `on_path`: which segments are on its critical path."""

    graph: ReplayGraph
    on_path: Flags

    @property
    def window_ns(self) -> int:
        """The length of its window."""
        return self.graph.window.end - self.graph.window.start

    @cached_property
    def on_path_ns(self) -> Ints:
        """The work that each segment does on the critical path, ns."""
        return np.where(self.on_path, self.graph.segments.work, 0)

    @property
    def least_ns(self) -> int:
        """The time that must be at stake for a fix to be worth a replay."""
        return round(LEAST_GAIN * self.window_ns)

    def on_ranks(self, chosen: Flags | Ints) -> str:
        """Write ` on rank 2` or ` on 4 ranks`, those of chosen segments; nothing if the run has one rank."""
        ranks = self.graph.lanes.rank
        if len(np.unique(ranks)) == 1:
            return ""
        return f" on {told_ranks(self.graph, self.graph.segments.lane[chosen])}"

    def names_on_path(self, among: Flags) -> Iterator[tuple[int, Flags, int]]:
        """Yield names with enough at stake among segments: code, segments, and their time on the path, ns."""
        code = self.graph.calls.name.codes[self.graph.segments.event]
        for one in np.unique(code[among & (self.on_path_ns > 0)]).tolist():
            mine = among & (code == one)
            spent = int(self.on_path_ns[mine].sum())
            if spent >= self.least_ns:
                yield one, mine, spent


@dataclass(frozen=True)
class Candidate:
    """A place in a run that shows that a fix can be made there.

    Attributes
    ----------
    options
        Words of `tracegraph what-if` that ask for it.
    selector
        Where it is made.
    evidence
        What shows it, with counts.
    assumptions
        What is taken for granted here, besides the fix's own assumptions.
    title, how
        The title, and how to do it here, if these differ from the fix's own.
    least
        A smaller change, or none, if `change` is the most that is possible.
    """

    selector: str
    options: tuple[str, ...]
    change: Change
    evidence: str
    assumptions: tuple[str, ...] = ()
    title: str | None = None
    how: str | None = None
    least: Change | None = None


@dataclass(frozen=True)
class Fix:
    """One kind of fix.

    Attributes
    ----------
    name
        Its name in commands and answers.
    title
        What to do.
    asked
        The phrase of a question that asks for it, with `{}` for the selector.
    recognised, replayed
        For the documentation: how a run shows it, and what a replay changes.
    how
        How to do it, in one line.
    refuted_by
        What would show that it is wrong.
    assumptions
        What no file states.
    find
        Yields the places in which a run shows it.
    edit
        Makes what it changes in chosen segments; None if older options ask for it.
    option
        The words before a selector that ask for it, if these are not its name.
    unit
        The unit of the number that it takes instead of a selector; empty if it takes a selector.
    number
        One that it may take, for the message about another.
    narrowed
        Whether a selector may follow the number, after a comma.
    takes
        Says what it takes for granted in a run, besides `assumptions`.
    instead_of
        Fixes of which only one can be made: their gains do not add up.
    evens
        Whether it makes ranks alike. No other change of what ranks do shows its gain while some ranks are in
        short, since the work of these stays as it is.
    """

    name: str
    title: str
    recognised: str
    replayed: str
    how: str
    refuted_by: str
    assumptions: tuple[str, ...]
    find: Callable[[Scene], Iterator[Candidate]]
    asked: str = ""
    edit: Callable[[ReplayGraph, Flags, Settings], Edit] | None = None
    option: tuple[str, ...] = ()
    unit: str = ""
    number: str = "25"
    narrowed: bool = False
    takes: Callable[[ReplayGraph, Settings], Iterable[str]] | None = None
    instead_of: tuple[str, ...] = ()
    evens: bool = False

    @property
    def argument(self) -> str:
        """What stands behind its option: `SEL`, or the unit of its number."""
        return f"{self.unit}[,SEL]" if self.narrowed else self.unit or "SEL"


def told_ranks(graph: ReplayGraph, lanes: Ints) -> str:
    """Name the ranks of lanes, or count them if they are many."""
    ranks = np.unique(graph.lanes.rank[lanes]).tolist()
    if len(ranks) > _LISTED_RANKS:
        return f"{len(ranks)} ranks"
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}"


def escaped(name: str) -> str:
    """Write a name as the value of a selector."""
    return name.replace(",", "\\,")


def made_in(graph: ReplayGraph, edit: Edit) -> Change:
    """Make a change that is an edit alone."""
    return Change(np.broadcast_to(np.float64(1), len(graph.segments)), edit=edit)


def asked_for(option: str, selectors: Sequence[str]) -> tuple[str, ...]:
    """Make the words of a command that ask for a fix in what several selectors select."""
    return tuple(word for selector in selectors for word in (f"--{option}", selector))
