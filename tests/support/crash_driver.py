"""A tracegraph command that writes down each of its steps, or has somebody killed just before one of them.

Run as `python crash_driver.py PLAN ARGUMENTS...` by `crash_ways`. What is a step: see `watch_system` and
`watch_database`. A lock is none: it is gone with its holder, so a kill before it is one before the next step;
nor is an fsync, for what was written outlives the process that wrote it.
"""

import json
import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import Any

import neo4j
import pyarrow.parquet as pq
from crash_java import kill_java, runs_java
from crash_steps import Plan, Step
from neo4j._sync.work.transaction import TransactionBase

from tracegraph.cli.main import main
from tracegraph.store import compacting
from tracegraph.store.managed.rebuild import offline_import

_PATHS = {
    **dict.fromkeys(("os.mkdir", "os.remove", "os.rmdir"), 1),
    **dict.fromkeys(("os.rename", "os.link"), 2),
}
"""Audited calls that change files, and how many paths they begin with; their folders follow."""
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_HELPERS = (
    "tracegraph.base.locks",
    "tracegraph.store.connection",
    "tracegraph.store.managed.server.processes",
    "tracegraph.base.parallel",
)
"""Their callers say more."""


class Watch:
    """Meets each effect just before it happens, counts it by its kind and tells `act`."""

    def __init__(self, act: Callable[[Step], None]) -> None:
        self._act, self._counts = act, Counter[tuple[str, str]]()
        self._lock = threading.RLock()
        self._is_acting = threading.local()

    def meet(self, effect: str) -> None:
        """An effect comes."""
        if getattr(self._is_acting, "now", False):
            return  # what `act` itself does is none
        with self._lock:
            self._is_acting.now = True
            try:
                stage = _stage(sys._getframe())
                self._counts[stage, effect] += 1
                self._act(Step(stage, effect, self._counts[stage, effect]))
            finally:
                self._is_acting.now = False


def _stage(frame: FrameType | None) -> str:
    """The function of tracegraph that asks for what happens."""
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith("tracegraph.") and module not in _HELPERS:
            return f"{module.rpartition('.')[2]}.{frame.f_code.co_name}"
        frame = frame.f_back
    return "elsewhere"


def watch_system(root: str, watch: Watch) -> None:
    """Steps in the system: files below `root` opened to be written, named, renamed or removed; processes."""

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if flags & _WRITING and _is_below(root, path, -1) and not str(path).endswith(".lock"):
                watch.meet("open")
        elif event in _PATHS:
            if any(_is_below(root, *named) for named in _named(event, arguments)):
                watch.meet(event)
        elif event == "subprocess.Popen" or (event == "os.kill" and arguments[1]):
            watch.meet(event)

    sys.addaudithook(hear)
    pq.write_table = _watched(pq.write_table, watch, "write_table")
    offline_import._ImportProgress.__call__ = _watched(  # type: ignore[method-assign]
        offline_import._ImportProgress.__call__, watch, "a line of the import"
    )


def _named(event: str, arguments: tuple[Any, ...]) -> Iterator[tuple[Any, int]]:
    count = _PATHS[event]
    folders = [value for value in arguments[count:] if isinstance(value, int)][-count:]
    yield from zip(arguments[:count], folders, strict=True)


def _is_below(root: str, path: Any, folder: int) -> bool:
    if isinstance(path, int):
        return False  # opened before
    base = os.readlink(f"/proc/self/fd/{folder}") if folder >= 0 else os.getcwd()
    return os.path.join(base, os.fsdecode(path)).startswith(root + os.sep)


def watch_database(watch: Watch) -> None:
    """Steps in the database: each statement of a session that may write, and each commit."""

    def of_session(session: neo4j.Session, query: str, *rest: Any, **named: Any) -> neo4j.Result:
        if session._config.default_access_mode == neo4j.WRITE_ACCESS and query != "RETURN 1":
            watch.meet("statement")
        return run(session, query, *rest, **named)

    run, neo4j.Session.run = neo4j.Session.run, of_session
    TransactionBase.run = _watched(TransactionBase.run, watch, "statement")
    TransactionBase._commit = _watched(TransactionBase._commit, watch, "commit")


def _watched(function: Callable[..., Any], watch: Watch, effect: str) -> Callable[..., Any]:
    def call(*arguments: Any, **named: Any) -> Any:
        watch.meet(effect)
        return function(*arguments, **named)

    return call


def recording(plan: Plan) -> Callable[[Step], None]:
    """Write each step to the plan's log."""
    log = open(plan.log, "w", buffering=1)  # noqa: SIM115 - as long as the command

    def write(step: Step) -> None:
        seen = Step(*step.key, java_runs=runs_java(plan.root))
        log.write(json.dumps(asdict(seen)) + "\n")

    return write


def killing(plan: Plan) -> Callable[[Step], None]:
    """Kill the victim at the plan's step, and note in the log that it came."""
    trial = plan.trial
    assert trial is not None

    def kill(step: Step) -> None:
        if step.key != trial.step.key:
            return
        Path(plan.log).write_text("reached")
        if trial.victim != "client":
            kill_java(plan.root)
        if trial.victim != "java":
            os.kill(os.getpid(), signal.SIGKILL)

    return kill


if __name__ == "__main__":
    _plan = Plan.load(Path(sys.argv[1]))
    if _plan.wasteful:  # a page holds more than a small run has
        compacting._LEAST_DEAD_BYTES, compacting._NODES_A_PAGE = (
            0,
            10_000,
        )
    _watch = Watch(killing(_plan) if _plan.trial else recording(_plan))
    watch_system(_plan.root, _watch)
    watch_database(_watch)
    raise SystemExit(main(["--quiet", "--workspace", _plan.root, *sys.argv[2:]]))
