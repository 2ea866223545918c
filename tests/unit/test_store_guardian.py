"""The guardian of a process: it ends it when nobody wants it, whatever became of who began it."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from tracegraph.base.locks import lock
from tracegraph.store.managed.server.guardian import while_begun_by, while_used
from tracegraph.store.workspace import Workspace, open_workspace

SLEEP = [str(shutil.which("sleep")), "60"]
LOOKS_S = 0.5
LATEST_S = 5.0
PARENT = """
import subprocess, sys, time
print(subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE).pid, flush=True)
time.sleep(60)
"""
Begin = Callable[[Sequence[str]], "subprocess.Popen[str]"]


@pytest.fixture
def own(tmp_path: Path) -> Workspace:
    """An empty workspace."""
    return open_workspace(tmp_path / "own")


@pytest.fixture
def begin() -> Iterator[Begin]:
    """Begin a process, which ends with the test."""
    with ExitStack() as stack:

        def begun(command: Sequence[str]) -> "subprocess.Popen[str]":
            process = stack.enter_context(
                subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
            stack.callback(process.kill)
            return process

        yield begun


@pytest.fixture
def serve(own: Workspace, begin: Begin) -> Iterator[tuple["subprocess.Popen[str]", ExitStack]]:
    """What stands for the server of the workspace, and the use of it, which closing the stack gives up."""
    with ExitStack() as use:
        use.enter_context(lock(own.use_lock, shared=True))
        yield begin(while_used(own.root, SLEEP)), use


def say_linger(workspace: Workspace, pid: int, linger_s: float | None) -> None:
    workspace.server_file.write_text(json.dumps({"pid": pid, "linger_s": linger_s}))


def test_process_becomes_the_command(begin: Begin) -> None:
    process = begin(while_begun_by(["/bin/sh", "-c", "echo $$; exit 7"]))
    assert process.stdout is not None
    assert (int(process.stdout.read()), process.wait()) == (process.pid, 7)


def test_what_was_begun_ends_with_who_began_it(begin: Begin) -> None:
    parent = begin([sys.executable, "-c", PARENT, *while_begun_by(SLEEP)])
    assert parent.stdout is not None
    child = psutil.Process(int(parent.stdout.readline()))
    time.sleep(2 * LOOKS_S)
    assert child.cmdline() == SLEEP
    parent.kill()
    child.wait(LATEST_S)


def test_server_ends_when_its_user_is_gone(serve: tuple["subprocess.Popen[str]", ExitStack]) -> None:
    process, use = serve
    time.sleep(2 * LOOKS_S)
    assert process.poll() is None
    use.close()
    process.wait(LATEST_S)


@pytest.mark.parametrize("held", ["server_lock", "warm_lock"])
def test_server_stays_while_somebody_may_begin_to_use_it(
    serve: tuple["subprocess.Popen[str]", ExitStack], own: Workspace, held: str
) -> None:
    process, use = serve
    with lock(getattr(own, held)):
        use.close()
        time.sleep(3 * LOOKS_S)
        assert process.poll() is None
    process.wait(LATEST_S)


def test_server_lingers_after_its_last_use(
    serve: tuple["subprocess.Popen[str]", ExitStack], own: Workspace
) -> None:
    process, use = serve
    say_linger(own, process.pid, 3.0)
    use.close()
    time.sleep(1.5)
    assert process.poll() is None
    own.server_file.touch()  # a use too short to be seen
    time.sleep(2.0)
    assert process.poll() is None
    process.wait(LATEST_S)
    assert not own.server_file.exists()


def test_kept_server_stays(serve: tuple["subprocess.Popen[str]", ExitStack], own: Workspace) -> None:
    process, use = serve
    say_linger(own, process.pid, None)
    use.close()
    time.sleep(3 * LOOKS_S)
    assert process.poll() is None


def test_what_the_state_says_of_another_server_does_not_count(
    serve: tuple["subprocess.Popen[str]", ExitStack], own: Workspace
) -> None:
    process, use = serve
    say_linger(own, os.getpid(), None)
    use.close()
    process.wait(LATEST_S)


def test_server_of_a_removed_workspace_ends(
    serve: tuple["subprocess.Popen[str]", ExitStack], own: Workspace
) -> None:
    process, use = serve
    say_linger(own, process.pid, 600.0)
    use.close()
    shutil.rmtree(own.root)
    process.wait(LATEST_S)


@pytest.mark.exhaustive  # 15 s
def test_server_that_does_not_end_is_killed(own: Workspace, begin: Begin) -> None:
    deaf = ["/bin/sh", "-c", "trap '' TERM; while :; do sleep 1; done"]
    with lock(own.use_lock, shared=True):
        process = begin(while_used(own.root, deaf))
        time.sleep(LOOKS_S)
    assert process.wait(30.0) == -9
