"""The client, Java or both are killed just before each step of each way of storing.

A first, undisturbed run of the command lists its steps (see `crash_driver`); then each trial is made on a
fresh copy of a workspace. `--all` tries one step of every third way, by chance; `--crash-trials` so many of
each way, evenly spaced; `--crash-all` every one.
"""

import random
import time
from pathlib import Path

import pytest
from crash_check import Truth
from crash_steps import Trial, spread, trials_of
from crash_trial import tried_once
from crash_ways import WAYS, Prepared, record

pytestmark = [pytest.mark.integration, pytest.mark.exhaustive]
SAMPLE = 1
OFFSET = random.random()
"""Which of the steps are in the sample; a failure names its step."""
EVERY = 3
TODAY = random.randrange(EVERY)
"""Which of the ways are: all of them are tried within a few runs of the tests, and by `benchmarks.crash`."""


def chosen(trials: list[Trial], config: pytest.Config) -> list[Trial]:
    """The trials that the command line asks for."""
    if config.getoption("--crash-all"):
        return trials
    return spread(trials, config.getoption("--crash-trials") or SAMPLE, OFFSET)


@pytest.mark.parametrize("name", WAYS)
def test_a_kill_at_any_step_loses_nothing(
    name: str, prepared: Prepared, truth: Truth, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    asked = pytestconfig.getoption("--crash-all") or pytestconfig.getoption("--crash-trials")
    if not asked and list(WAYS).index(name) % EVERY != TODAY:
        pytest.skip(f"one way of {EVERY} is tried at a time; --crash-trials 1 tries each")
    way, root = WAYS[name], tmp_path / "workspace"
    trials = trials_of(record(way, prepared.copy(way.before, root)))
    failures = []
    begun, tried = time.monotonic(), chosen(trials, pytestconfig)
    for trial in tried:
        prepared.copy(way.before, root)
        if failure := tried_once(way, root, trial, truth):
            failures.append(f"{trial}: {failure}")
            print(failures[-1], flush=True)
    print(
        f"{name}: {len(tried)} of {len(trials)} trials in {time.monotonic() - begun:.0f} s, "
        f"{len(failures)} failed"
    )
    assert not failures, "\n".join(failures)
