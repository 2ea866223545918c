"""What could be done about a run, and what each gains: fixes that it shows, replayed, as rows."""

import shlex
from collections.abc import Collection, Sequence

from tracegraph.ingest.what_if.changes.change import join_changes
from tracegraph.ingest.what_if.fixes.fix import Candidate, Fix, Scene
from tracegraph.ingest.what_if.fixes.registry import fixes_of
from tracegraph.ingest.what_if.predictions.gains import Gain
from tracegraph.ingest.what_if.predictions.predict import Predictor
from tracegraph.vocabulary.bounds import LEAST_GAIN

# The number of fixes that are shown at most.
_MOST = 5
_SAME = 0.9
"""Share (0..1) of the gain of a place from which on a place inside of it says the same. The 10 % by which
gains differ from one measurement to the next (`gains._UNKNOWN`)."""
_INSTEAD = "made instead of {}, not besides: the gains do not add up"
Place = tuple[Fix, Candidate, Gain]
Row = dict[str, object]


def find_fixes(predictor: Predictor) -> list[Row]:
    """Find the five fixes that gain most, at least 1 % of a run; corrected for what recording cost.

    Of several places of one fix, the one that gains most counts; of those that gain nearly the same, the
    narrowest.

    Returns
    -------
    rows
        fix, title, selector, gain_ns, low_ns, high_ns, base_ns, speedup, inferred_share, evidence, how,
        command (words of `tracegraph what-if`), assumptions, refuted_by, with_first_ns (what this one and the
        first gain together, None for the first and for one that is made instead of it).
    """
    chosen = _worthwhile(predictor, Scene(predictor.graph, predictor.unchanged().on_path))
    shown = {fix.name for fix, *_ in chosen}
    rows = [_row(predictor, place, shown) for place in chosen]
    return [
        {**row, "with_first_ns": _with_first(predictor, chosen, place)}
        for row, place in zip(rows, chosen, strict=True)
    ]


def _with_first(predictor: Predictor, chosen: Sequence[Place], place: Place) -> int | None:
    """Replay the fix that gains most and another one at once."""
    (best, first, _), (fix, one, _) = chosen[0], place
    if place is chosen[0] or best.name in fix.instead_of or fix.name in best.instead_of:
        return None
    return predictor.gain(join_changes([first.change, one.change])).gain_ns


def _worthwhile(predictor: Predictor, scene: Scene) -> Sequence[Place]:
    """Find the fixes that gain most, at least 1 % of a run, each way to do one in one place."""
    fixes = fixes_of(scene.graph)
    tried = ((fix, one, predictor.gain(one.change)) for fix in fixes for one in fix.find(scene))
    # A change holds numbers for every segment, so those that gain too little are dropped as they are tried.
    found = [one for one in tried if one[2].gain_ns >= LEAST_GAIN * max(one[2].base_ns, 1)]
    found.sort(key=lambda one: (-one[2].gain_ns, len(one[1].options)))
    chosen: dict[tuple[str, str | None], Place] = {}
    for place in found:
        fix, one, gain = place
        _, before, most = chosen.setdefault((fix.name, one.how), place)
        if gain.gain_ns >= _SAME * most.gain_ns and len(one.options) < len(before.options):
            chosen[fix.name, one.how] = place
    return sorted(chosen.values(), key=lambda one: -one[2].gain_ns)[:_MOST]


def command_of(options: Sequence[str]) -> str:
    """Write the command that predicts what some options ask for, quoted for a shell."""
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
