"""What a fix is: how it is recognised in a run, what it changes for a replay, and what is said about it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.what_if.changes.change import Change
from tracegraph.ingest.what_if.changes.edit import Edit
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.vocabulary.bounds import LEAST_GAIN


@dataclass(frozen=True)
class Settings:
    """What may be said besides what a fix is made in: batches ahead, and threads that make them."""

    depth: int = 2
    workers: int = 1


@dataclass(frozen=True)
class Scene:
    """A run in which fixes are looked for; `on_path`: which segments are on its critical path."""

    graph: ReplayGraph
    on_path: Flags

    @property
    def window_ns(self) -> int:
        """Length of its window."""
        return self.graph.window.end - self.graph.window.start

    @cached_property
    def on_path_ns(self) -> Ints:
        """How much of its work each segment does on the critical path, ns."""
        return np.where(self.on_path, self.graph.segments.work, 0)

    @property
    def least_ns(self) -> int:
        """What has to be at stake for a fix to be worth a replay."""
        return round(LEAST_GAIN * self.window_ns)

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
    """Where a run shows that a fix can be made.

    `options`: of `tracegraph what-if`, word by word, which ask for it. `selector`: what it is made in.
    `evidence`: what shows it, with counts. `assumptions`: what is taken for granted here besides. `title`,
    `how`: what it is called and how it is done here, where that is not what the fix says. `least`: less
    of the change, where that is the most that is possible.
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

    `name`: what it is called in commands and answers. `title`: what to do. `asked`: what a question says that
    asks for it, with `{}` for the selector. `recognised`, `replayed`: for the documentation, how a run shows
    it and what a replay changes. `how`: how to do it, one line. `refuted_by`: what would show it wrong.
    `assumptions`: what no file tells. `find`: where a run shows it. `edit`: what it changes in chosen
    segments, None where older options ask for it. `option`: the words before a selector that ask for it,
    where these are not its name. `instead_of`: fixes of which only one can be made: their gains do not add
    up.
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
    instead_of: tuple[str, ...] = ()


def escaped(name: str) -> str:
    """Return a name as the value of a selector."""
    return name.replace(",", "\\,")


def made_in(graph: ReplayGraph, edit: Edit) -> Change:
    """Return the change that an edit alone is."""
    return Change(np.ones(len(graph.segments)), edit=edit)


def asked_for(option: str, selectors: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a command that ask for a fix in what several selectors select."""
    return tuple(word for selector in selectors for word in (f"--{option}", selector))
