"""Whether `tracegraph diff` tells differences from chance: simulated steps, and recordings slowed down."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.accuracy.markdown import table
from benchmarks.accuracy.paths import CommandLine
from benchmarks.accuracy.sets import JITTER, Oracle
from benchmarks.accuracy.step_pairs import CHANGE, SITUATIONS, Outcome, Situation, judge_pairs
from tracegraph.workbench.diff.significance import POWER, SURE
from tracegraph.workbench.text.text import format_share

PAIRS = 200
"""Pairs of each kind in every situation."""
_SEEDS = (1, 2, 3)
_SCENARIOS = ("--regime gpu --layers 1 --steps 30", "--regime cpu --layers 1 --steps 30")
_OTHER_SEED = 1000
"""How far apart the seeds of the two recordings of a pair are."""
_ENTRY_TIMES = ("ts", "dur")


@dataclass(frozen=True)
class Recorded:
    """What `tracegraph diff` says of two recordings: `told`, `shown`, the smallest difference as a share."""

    scenario: str
    changed: bool
    told: bool
    shown: float


def judge_situations() -> Iterator[tuple[Situation, list[Outcome]]]:
    """Judge each situation with every seed."""
    for one in SITUATIONS:
        yield one, [judge_pairs(one, PAIRS, seed) for seed in _SEEDS]


def describe_situations(found: Sequence[tuple[Situation, list[Outcome]]]) -> str:
    """Write the Markdown: the sums, and a row for each situation, of its worst seed."""
    every = [one for _, outcomes in found for one in outcomes]
    pairs = sum(one.pairs for one in every)
    promised = [(situation.name, outcomes) for situation, outcomes in found if situation.keeps]
    least = min(one.found for _, outcomes in promised for one in outcomes)
    false = [one.false for one in every]
    intro = (
        f"Of {pairs:,} pairs without a difference {sum(false):,} are called different "
        f"({format_share(sum(false) / pairs)}; {format_share(1 - SURE)} are stated), in no situation more "
        f"than {max(false)} of {PAIRS}. Of a true change of {format_share(CHANGE)} at least {least} of "
        f"{PAIRS} are found in the {len(promised)} situations whose steps are many enough to promise "
        f"{format_share(POWER)}."
    )
    columns = (
        "steps",
        f"called different, of {PAIRS} alike",
        f"found, of {PAIRS} changed",
        "say that they show such a change",
        "of these found",
        f"{format_share(POWER)} promised",
    )
    return f"{intro}\n\n{table(columns, [_row(*one) for one in found])}"


def _row(situation: Situation, outcomes: Sequence[Outcome]) -> list[object]:
    claimed = sum(one.claimed for one in outcomes)
    right = sum(one.found_of_claimed for one in outcomes)
    promise = (
        "yes, and kept"
        if situation.keeps
        else "too few steps say so"
        if situation.claims_hold
        else "not kept"
    )
    return [
        situation.name,
        f"at most {max(one.false for one in outcomes)}",
        f"at least {min(one.found for one in outcomes)}",
        f"{claimed:,} of {sum(one.pairs for one in outcomes):,}",
        format_share(right / claimed) if claimed else "none says so",
        promise,
    ]


def judge_recorded(
    oracle: Oracle, commands: CommandLine, seeds: Sequence[int], events: int
) -> Iterator[list[Recorded]]:
    """Compare recordings of one program with other random lags, as they are and with B slowed down."""
    for scenario in _SCENARIOS:
        for seed in seeds:
            sets = oracle.matrix([scenario], [(JITTER,)], [seed, seed + _OTHER_SEED], events)
            with oracle.made(sets[0]) as a, oracle.made(sets[1]) as b:
                slow = b.trace.with_name(f"slow_{b.trace.name}")
                slow_down(b.trace, slow)
                alike, changed = commands.diff(a.trace, b.trace, slow)
                yield [_said(scenario, alike, changed=False), _said(scenario, changed, changed=True)]
                slow.unlink()


def slow_down(trace: Path, slower: Path) -> None:
    """Write a trace in which everything takes longer by the true change."""
    said = json.loads(trace.read_text(encoding="utf-8"))
    for entry in said["traceEvents"]:
        entry.update({name: round(entry[name] * (1 + CHANGE), 3) for name in _ENTRY_TIMES if name in entry})
    slower.write_text(json.dumps(said), encoding="utf-8")


def _said(scenario: str, said: str, *, changed: bool) -> Recorded:
    compared = json.loads(said)["steps"]["compared"]
    return Recorded(scenario, changed, compared["told"], compared["shown_ns"] / compared["a"]["mean_ns"])


def describe_recorded(found: Sequence[Recorded]) -> str:
    """Write the Markdown: a row for each scenario, alike and changed."""
    groups: dict[tuple[str, bool], list[Recorded]] = {}
    for one in found:
        groups.setdefault((one.scenario, one.changed), []).append(one)
    alike = [one for one in found if not one.changed]
    changed = [one for one in found if one.changed and one.shown <= CHANGE]
    intro = (
        f"{len(alike)} pairs of recordings that differ in nothing but random lags: "
        f"{sum(one.told for one in alike)} are called different. {len(changed)} pairs that are "
        f"{format_share(CHANGE)} longer and say that they show that: {sum(one.told for one in changed)} are "
        "found."
    )
    rows = [
        [
            scenario,
            format_share(CHANGE) if longer else "none",
            f"{sum(one.told for one in group)} of {len(group)}",
            " to ".join(format_share(end(one.shown for one in group)) for end in (min, max)),
        ]
        for (scenario, longer), group in groups.items()
    ]
    columns = ("simulation", "true change", "called different", "smallest that is shown")
    return f"{intro}\n\n{table(columns, rows)}"
