"""The guardian of a Java process: ends it when nobody wants it any more, even if its starter died.

The process that is started becomes Java itself, so that its number is Java's; a child of it stays and
watches. The guardian uses only the standard library, without site packages, so that it starts quickly.
"""

import fcntl
import json
import os
import select
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

_POLL_S = 0.5
"""The pause between two looks at Java and its users."""
_STOP_GRACE_S = 15.0
"""How long Java may take to end before it is killed."""
_STOP_POLL_S = 0.02
"""The pause between two looks at whether Java has ended."""


def while_begun_by(command: Sequence[str]) -> list[str]:
    """Return the command line that runs `command` until the writing end of its standard input is closed."""
    return [*_program(), "pipe", *command]


def while_used(root: Path, command: Sequence[str]) -> list[str]:
    """Return the command line that runs `command`, the server of the workspace in `root`, while wanted.

    It is wanted while somebody holds one of the workspace's locks on the server, and after that for the
    `linger_s` of the server's state file; a use too short to be seen counts from when that file was written.
    Without the file the server ends at once.
    """
    return [*_program(), str(root), *command]


def _program() -> list[str]:
    return [sys.executable, "-I", "-S", __file__]


def _main(wanted: str, command: Sequence[str]) -> None:
    java = os.getpid()
    if os.fork():
        _redirect(0)
        os.execv(command[0], list(command))
    _redirect(1, 2)  # a reader of Java's output waits for Java's end, not for ours
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if wanted == "pipe":
        _watch_pipe(java)
    else:
        _watch_use(java, Path(wanted))


def _redirect(*descriptors: int) -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in descriptors:
        os.dup2(nothing, descriptor)
    os.close(nothing)


def _watch_pipe(java: int) -> None:
    while _lives(java):
        if select.select([0], [], [], _POLL_S)[0]:
            os.kill(java, signal.SIGKILL)
            return


def _watch_use(java: int, root: Path) -> None:
    os.chdir("/")  # the workspace may be removed
    last_use = time.time()
    while _lives(java):
        with ExitStack() as held:
            # In the same order as everywhere: nobody then finds a lock taken by this mere look.
            free = all(_take(held, root / f"{name}.lock") for name in ("server", "use", "warm"))
            last_use = _last_use(root, last_use) if free else time.time()
            if free and time.time() - last_use >= _linger_s(java, root):
                with suppress(OSError):
                    (root / "server.json").unlink()
                _end(java)
        time.sleep(_POLL_S)


def _take(held: ExitStack, path: Path) -> bool:
    """Take a lock, or return False if somebody holds it; a lock whose file is gone is free."""
    try:
        fcntl.flock(held.enter_context(path.open("rb")), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _last_use(root: Path, known: float) -> float:
    with suppress(OSError):
        return max(known, (root / "server.json").stat().st_mtime)
    return known


def _linger_s(java: int, root: Path) -> float:
    with suppress(OSError, ValueError, KeyError):
        state = json.loads((root / "server.json").read_text())
        if state["pid"] == java:
            return float("inf") if state["linger_s"] is None else float(state["linger_s"])
    return 0.0


def _end(java: int) -> None:
    """Tell Java to end and wait, because the next holder of the locks may begin another one."""
    os.kill(java, signal.SIGTERM)
    if not _ends(java, _STOP_GRACE_S):
        os.kill(java, signal.SIGKILL)
        _ends(java, _STOP_GRACE_S)


def _ends(java: int, limit_s: float) -> bool:
    limit = time.monotonic() + limit_s
    while _lives(java) and time.monotonic() < limit:
        time.sleep(_STOP_POLL_S)
    return not _lives(java)


def _lives(java: int) -> bool:
    """Tell whether Java is still our parent: then no other process has its number."""
    return os.getppid() == java


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2:])
