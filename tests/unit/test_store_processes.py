"""Ending processes: real ones, which obey, ignore it, or stay unburied by their parents."""

import subprocess
import sys
import time

import psutil
import pytest

from tracegraph.store.managed.server import processes

_STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(60)"
)
_IDLE = "import time; print(1, flush=True); time.sleep(60)"
# Starts a child, tells its number and never waits for it.
_PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("program", [_IDLE, _STUBBORN])
def test_an_ended_process_counts_as_gone_though_its_parent_does_not_bury_it(program: str) -> None:
    command = [sys.executable, "-c", _PARENT, program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        begun = time.monotonic()
        processes.end(child, 0.5)
        assert child.status() == psutil.STATUS_ZOMBIE
        assert time.monotonic() - begun < 5  # the limit after a kill is 15 s
        assert not processes.runs(child, lambda command: True)
        processes.end(child)
        parent.kill()


def test_only_what_is_meant_is_ended() -> None:
    children = [
        subprocess.Popen([sys.executable, "-c", _IDLE, word]) for word in ("meant-8341", "spared-8341")
    ]
    processes.end_all(lambda command: "meant-8341" in command)
    assert [child.poll() is None for child in children] == [False, True]
    for child in children:
        child.kill()
        child.wait()
