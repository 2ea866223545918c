"""What could be done about a run, and what each gains: fixes that it shows, replayed, as rows."""

import shlex
from collections.abc import Collection, Sequence

from tracegraph.ingest.what_if.fixes.fix import Candidate, Fix, Scene
from tracegraph.ingest.what_if.fixes.registry import FIXES
from tracegraph.ingest.what_if.gains import Gain
from tracegraph.ingest.what_if.predict import Predictor
from tracegraph.store.bounds import LEAST_GAIN

_MOST, _OF_A_FIX = 5, 2
_SAME = 0.9
"""Share of the gain of a place from which on one inside of it says the same."""
_INSTEAD = "made instead of {}, not besides: the gains do not add up"
Place = tuple[Fix, Candidate, Gain]
Row = dict[str, object]


def find_fixes(predictor: Predictor) -> list[Row]:
    """The five fixes that gain most, at least 1 % of a run; corrected for what recording cost.

    One row each: fix, title, selector, gain_ns, low_ns, high_ns, base_ns, speedup, inferred_share, evidence,
    how, command (words of `tracegraph what-if`), assumptions, refuted_by. Of several places of one fix the
    one that gains most, of those that gain nearly the same the narrowest.
    """
    scene = Scene(predictor.graph, predictor.unchanged().on_path)
    chosen: dict[tuple[str, str], Place] = {}
    for place in _worthwhile(predictor, scene):
        chosen.setdefault((place[0].name, place[1].title or place[0].title), place)
    shown = {name for name, _ in chosen}
    return [_row(predictor, place, shown) for place in list(chosen.values())[:_MOST]]


def _worthwhile(predictor: Predictor, scene: Scene) -> Sequence[Place]:
    """Fixes that gain at least 1 % of a run, most first, of each kind the two places that gain most."""
    found = [(fix, one, predictor.gain(one.change)) for fix in FIXES for one in fix.find(scene)]
    found = [one for one in found if one[2].gain_ns >= LEAST_GAIN * max(one[2].base_ns, 1)]
    found.sort(key=lambda one: (-one[2].gain_ns, len(one[1].options)))
    places: dict[str, list[Place]] = {}
    for place in found:
        before = places.setdefault(place[0].name, [])
        if before and place[2].gain_ns >= _SAME * before[-1][2].gain_ns:
            if len(place[1].options) < len(before[-1][1].options):
                before[-1] = place
        elif len(before) < _OF_A_FIX:
            before.append(place)
    chosen = [place for of_fix in places.values() for place in of_fix]
    return sorted(chosen, key=lambda one: -one[2].gain_ns)


def command_of(options: Sequence[str]) -> str:
    """The command that predicts what some options ask for, as a shell takes it."""
    return shlex.join(["tracegraph", "what-if", *options])


def _row(predictor: Predictor, place: Place, shown: Collection[str]) -> Row:
    fix, one, gain = place
    others = [_INSTEAD.format(name) for name in fix.instead_of if name in shown]
    predicted = predictor.ranged(one.change, gain, one.least)
    return {
        "fix": fix.name,
        "title": one.title or fix.title,
        "selector": one.selector,
        "gain_ns": predicted.corrected.gain_ns,
        "low_ns": predicted.low.gain_ns,
        "high_ns": predicted.high.gain_ns,
        "base_ns": predicted.corrected.base_ns,
        "speedup": predicted.corrected.speedup if predicted.corrected.predicted_ns else None,
        "inferred_share": predicted.inferred_share,
        "evidence": one.evidence,
        "how": one.how or fix.how,
        "command": command_of(one.options),
        "assumptions": [*fix.assumptions, *one.assumptions, *others],
        "refuted_by": fix.refuted_by,
    }
