"""A plan: which fixes to make, one after the other, and what is gained by several together."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from tracegraph.base.errors import InputError
from tracegraph.ingest.what_if.changes.change import Change, join_changes, whole_window
from tracegraph.ingest.what_if.fixes.fix import Candidate, Fix, Scene
from tracegraph.ingest.what_if.fixes.fix_rows import command_of
from tracegraph.ingest.what_if.fixes.registry import fixes_of
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.ingest.what_if.graph.overhead import estimate_overhead
from tracegraph.ingest.what_if.predictions.predict import Predictor
from tracegraph.ingest.what_if.resource_bounds import find_bounds
from tracegraph.workbench.notebook.cards import plan_card
from tracegraph.workbench.text.text import format_ns, plural
from tracegraph.workbench.what_if.defaults import FIXES_WANTED

_CANDIDATES, _TOGETHER, _LEAST = 6, 1.1, 0.01
"""Limits of the search for a plan.

At most `_CANDIDATES` fixes take part. A pair pays together if it gains `_TOGETHER` times what both gain by
themselves; a further fix, or the surplus of a pair, must gain `_LEAST` of the run. `_LEAST` is the least that
a fix gains (`LEAST_GAIN`). `_TOGETHER` is above the 10 % by which gains differ from one measurement to the
next. `_CANDIDATES` bounds the cost: six have 15 pairs, each of them a replay.
"""
_ALL_SETS = 2
"""Up to which number of fixes all sets are tried."""


@dataclass(frozen=True)
class Made:
    """Fixes made together: what they are, what they gain in ns, and the command that predicts it."""

    titles: tuple[str, ...]
    selectors: tuple[str, ...]
    gain_ns: int
    length_ns: int
    command: str


@dataclass(frozen=True, repr=False)
class Plan:
    """What to do about `run`: `steps[k]` is the best that k + 1 fixes make of it.

    `base_ns`: its length without the cost of recording. `together`: pairs that gain 1.1 times what both gain
    by themselves, and 1 % of the run more. `floors`: lengths that no schedule of the work as recorded can
    beat. `ended`: whether fewer fixes gain something than were asked for.
    """

    run: str
    base_ns: int
    steps: Sequence[Made]
    together: Sequence[Made]
    floors: Sequence[dict[str, object]]
    ended: bool = False

    def __repr__(self) -> str:
        best = self.steps[-1].length_ns if self.steps else self.base_ns
        fixes = plural(len(self.steps), "fix", "fixes")
        return f"<Plan for {self.run}: {fixes}, {format_ns(self.base_ns)} become {format_ns(best)}>"

    def _repr_html_(self) -> str:
        return plan_card(self)

    def as_json(self) -> dict[str, object]:
        """Return the plan for scripts; keys may be added, never renamed. Times in ns."""
        return {
            "run": self.run,
            "base_ns": self.base_ns,
            "plan": [_json(one) for one in self.steps],
            "together": [_json(one) for one in self.together],
            "floors": [dict(one) for one in self.floors],
        }


def make_plan(graph: ReplayGraph, run: str, fixes: int = FIXES_WANTED) -> Plan:
    """Find the best single fix, then the best pair, then greedily one more, while it gains 1 % of the run.

    Of each kind of fix the place that gains most takes part.

    Raises
    ------
    InputError
        `fixes` is below 1.
    """
    if fixes < 1:
        raise InputError("a plan without fixes is none", "give --fixes as 1 or more")
    predictor = Predictor(graph, whole_window(graph), estimate_overhead(graph))
    search = _Search(predictor)
    steps: list[Made] = []
    for count in range(1, fixes + 1):
        best = search.best(count)
        before = steps[-1].gain_ns if steps else 0
        if best is None or best.gain_ns - before < _LEAST * predictor.base_ns:
            break
        steps.append(best)
    # Nobody knows how busy a rank in short is.
    floors = [] if graph.lanes.in_short.any() else find_bounds(predictor)["floors"]
    assert isinstance(floors, list)
    together = search.together() if fixes > 1 else []
    ended = len(steps) < fixes
    return Plan(run, predictor.base_ns, tuple(steps), tuple(together), tuple(floors), ended)


class _Search:
    """The fixes that a run shows, and what each set of them that was tried gains."""

    def __init__(self, predictor: Predictor) -> None:
        self.predictor = predictor
        self._chosen: tuple[int, ...] = ()
        self._gains: dict[tuple[int, ...], int] = {}
        scene = Scene(predictor.graph, predictor.unchanged().on_path)
        places: list[tuple[int, Fix, Candidate]] = []
        for fix in fixes_of(predictor.graph):
            found = [(predictor.gain(one.change).gain_ns, -len(one.options), one) for one in fix.find(scene)]
            if found:
                gain, _, one = max(found, key=lambda place: place[:2])
                places.append((gain, fix, one))
        places.sort(key=lambda place: -place[0])
        self._places = [(fix, one) for _, fix, one in places[:_CANDIDATES]]
        for at, (gain, *_) in enumerate(places[:_CANDIDATES]):
            self._gains[(at,)] = gain

    def best(self, count: int) -> Made | None:
        """Find the best set of `count` fixes: of all sets up to two, then with one more than before."""
        numbers = range(len(self._places))
        if count <= _ALL_SETS:
            tried = list(combinations(numbers, count))
        else:
            tried = [tuple(sorted((*self._chosen, at))) for at in numbers if at not in self._chosen]
        tried = [places for places in tried if self._fit(places)]
        if not tried:
            return None
        self._chosen = max(tried, key=self._gain)
        return self._made(self._chosen)

    def together(self) -> list[Made]:
        """List the pairs that pay only, or much better, together; the best first."""
        pairs = [
            pair for pair in combinations(range(len(self._places)), 2) if self._fit(pair) and self._pays(pair)
        ]
        return [self._made(pair) for pair in sorted(pairs, key=self._gain, reverse=True)]

    def _fit(self, places: tuple[int, ...]) -> bool:
        """Tell whether all of the fixes can be made: none replaces another."""
        fixes = [self._places[at][0] for at in places]
        names = {fix.name for fix in fixes}
        return not any(names & set(fix.instead_of) for fix in fixes)

    def _pays(self, pair: tuple[int, ...]) -> bool:
        alone = sum(max(self._gain((at,)), 0) for at in pair)
        more = self._gain(pair) - alone
        return self._gain(pair) >= _TOGETHER * alone and more >= _LEAST * self.predictor.base_ns

    def _gain(self, places: tuple[int, ...]) -> int:
        if places not in self._gains:
            changes: list[Change] = [self._places[at][1].change for at in places]
            self._gains[places] = self.predictor.gain(join_changes(changes)).gain_ns
        return self._gains[places]

    def _made(self, places: tuple[int, ...]) -> Made:
        chosen = [self._places[at] for at in places]
        gain = self._gain(places)
        return Made(
            titles=tuple(one.title or fix.title for fix, one in chosen),
            selectors=tuple(one.selector for _, one in chosen),
            gain_ns=gain,
            length_ns=self.predictor.base_ns - gain,
            command=command_of([word for _, one in chosen for word in one.options]),
        )


def _json(one: Made) -> dict[str, object]:
    return {
        "fixes": [
            {"title": title, "selector": selector}
            for title, selector in zip(one.titles, one.selectors, strict=True)
        ],
        "gain_ns": one.gain_ns,
        "length_ns": one.length_ns,
        "command": one.command,
    }
