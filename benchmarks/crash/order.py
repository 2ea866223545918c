"""The order of the kills: each site of each way once, then the other victims and occurrences."""

import random
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, zip_longest
from typing import NamedTuple

from crash_steps import Step, Trial, trials_of

from benchmarks.crash.record import Tried


class Site(NamedTuple):
    """A kind of step of a way: the function that asks for an effect, and the effect."""

    way: str
    stage: str
    effect: str


def site_of(way: str, trial: Trial) -> Site:
    """Return the site of a kill."""
    return Site(way, trial.step.stage, trial.step.effect)


def key_of(way: str, trial: Trial) -> tuple[object, ...]:
    """Return what identifies a kill, so that it is the same if the kill is tried again."""
    return (way, *trial.step.key, trial.victim)


def still_to_try(
    steps: Mapping[str, Sequence[Step]], tried: Iterable[Tried], commit: str
) -> list[tuple[str, Trial]]:
    """List the kills that were not tried yet, and those that did harm at another commit than this.

    First comes one at each site that had none, in a mixed order, with ways and victims in turn; then the
    others.
    """
    done = {key_of(t.way, t.trial) for t in tried if not t.did_harm or t.commit == commit}
    seen = {site_of(t.way, t.trial) for t in tried if key_of(t.way, t.trial) in done}
    firsts: list[list[tuple[str, Trial]]] = []
    others: list[list[tuple[str, Trial]]] = []
    for way, listed in steps.items():
        left = [trial for trial in trials_of(listed) if key_of(way, trial) not in done]
        first = _one_of_each_site(way, left, seen)
        firsts.append([(way, trial) for trial in first])
        others.append([(way, trial) for trial in left if trial not in first])
    return [*_in_turn(firsts), *_in_turn(others)]


def _one_of_each_site(way: str, trials: Sequence[Trial], seen: set[Site]) -> list[Trial]:
    sites: dict[Site, list[Trial]] = {}
    for trial in trials:
        sites.setdefault(site_of(way, trial), []).append(trial)
    new = [found for site, found in sites.items() if site not in seen]
    # The same order each time, but not that of the command, whose beginning alone would take an hour.
    random.Random(way).shuffle(new)
    return [found[number % len(found)] for number, found in enumerate(new)]


def _in_turn(lists: Iterable[Sequence[tuple[str, Trial]]]) -> Iterable[tuple[str, Trial]]:
    return (item for item in chain.from_iterable(zip_longest(*lists)) if item is not None)
