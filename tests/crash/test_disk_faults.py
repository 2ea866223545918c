"""The disk below Python and Java fails: a kill, an error or no space at one of their calls, or it crawls.

The calls are counted over all processes of a command, see `disk_shim.c`. `--all` tries one of the faults of
each way, `--crash-all` all.
"""

import random
import time
from pathlib import Path

import pytest
from crash_check import Truth, check_after, check_end
from crash_java import kill_java
from crash_steps import spread
from crash_ways import WAYS, Prepared, Way
from disk_shim import Calls, Fault, compile_shim, run_on_disk

pytestmark = [pytest.mark.integration, pytest.mark.exhaustive]
STORING = ("appended over Bolt", "rebuilt with one more", "deleted")
KILLS, TORN, FAILURES = 17, 6, 4
"""Of each way: kills where the disk is waited for, kills at any call, and calls from which on all fail."""
LIMIT_S = 90
"""What fails ends before; what is only slow has longer."""
SLOW_LIMIT_S = 300
CRAWLING_MS = 20
KILLED = -9


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The preloaded library."""
    return compile_shim(tmp_path_factory.mktemp("shim"))


@pytest.mark.parametrize("name", STORING)
def test_a_failing_disk_loses_nothing(
    name: str,
    prepared: Prepared,
    truth: Truth,
    library: Path,
    tmp_path: Path,
    pytestconfig: pytest.Config,
) -> None:
    way, root = WAYS[name], prepared.copy(WAYS[name].before, tmp_path / "workspace")
    outcome, calls, _ = run_on_disk(library, way, root, Fault(), SLOW_LIMIT_S)
    assert outcome.code == 0, outcome
    chance, failures = random.random(), []
    begun, faults = time.monotonic(), faults_of(calls, chance)
    if not pytestconfig.getoption("--crash-all"):
        faults = spread(faults, 1, chance)
    for fault in faults:
        prepared.copy(way.before, root)
        if failure := failed(library, way, root, fault, truth):
            failures.append(failure)
            print(failure, flush=True)
    print(
        f"{name}: {len(faults)} faults within {calls.all} calls in {time.monotonic() - begun:.0f} s, "
        f"{len(failures)} failed"
    )
    assert not failures, "\n".join(failures)


def faults_of(calls: Calls, chance: float) -> list[Fault]:
    """The faults of a command that calls the disk so often, evenly spaced and begun at `chance`."""
    plan = (
        ("kill", KILLS, "sync"),
        ("kill", TORN, "all"),
        ("EIO", FAILURES, "all"),
        ("ENOSPC", FAILURES, "all"),
    )
    return [
        Fault(act, at, kind)
        for act, count, kind in plan
        for at in spread(range(1, getattr(calls, kind) + 1), count, chance)
    ]


def failed(library: Path, way: Way, root: Path, fault: Fault, truth: Truth) -> str:
    """Why a fault did harm; nothing where all is well."""
    met = ""
    try:
        outcome, calls, met = run_on_disk(library, way, root, fault, LIMIT_S)
        assert met or getattr(calls, fault.calls) < fault.at, "the call came and the fault did not"
        if outcome.code != KILLED or fault.act != "kill":
            check_end(outcome)
        check_after(way, root, truth, is_done=outcome.code == 0)
    except Exception as error:
        return f"{fault}, {met}: {type(error).__name__}: {error}"
    finally:
        kill_java(str(root))
    return ""


def test_a_crawling_disk_only_takes_longer(
    prepared: Prepared, truth: Truth, library: Path, tmp_path: Path
) -> None:
    way = WAYS["appended over Bolt"]
    root = prepared.copy(way.before, tmp_path / "workspace")
    outcome, calls, _ = run_on_disk(library, way, root, Fault("sleep", ms=CRAWLING_MS), SLOW_LIMIT_S)
    assert outcome.code == 0, outcome
    print(f"{calls.sync} calls took {CRAWLING_MS} ms each")
    check_after(way, root, truth, is_done=True)
