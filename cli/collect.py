"""Asks the database for everything a report shows."""

import json
import time
from collections.abc import Callable, Mapping
from typing import TypeVar

import pandas as pd

from tracegraph.cli.findings import TOPICS, Findings, RunDetails, Source
from tracegraph.queries import events, inventory, path, steps, timeline, windows
from tracegraph.store.connection import Database
from tracegraph.store.progress import Progress

Answer = TypeVar("Answer")
_PIXELS = 4_000
_STAGES = 7
_RECURRING_ROWS = 10
_NEAR_ROWS = 10
_WAIT_ROWS, _WAIT_LEAST_PART = 20, 100
_NEAR_SLACK_PART, _NEAR_LEAST_PART = 10, 1_000
"""What is nearly critical: a slack of at most a 10th of the window, by events of at least a 1000th of it."""


class _Stages:
    """Reports each stage of the collection and keeps its seconds."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self.timings_s: dict[str, float] = {}

    def run(self, name: str, ask: Callable[[], Answer]) -> Answer:
        self._progress(name, len(self.timings_s), _STAGES)
        begun = time.perf_counter()
        answer = ask()
        self.timings_s[name] = round(time.perf_counter() - begun, 3)
        return answer


def collect_findings(
    database: Database,
    run: str,
    *,
    step: int | None,
    top: int,
    timings_s: Mapping[str, float],
    progress: Progress,
) -> Findings:
    """Return the findings of a run that is ready, or of one of its steps, with the `top` largest hotspots.

    `timings_s` are the seconds of earlier stages; those of the queries are added.

    Raises:
        InputError: the run has no such step.
        StoreError: the server failed, or the run is damaged.
    """
    found = windows.run_window(database, run) if step is None else windows.step_window(database, run, step)
    start_ns, end_ns, chain = (int(found[name].iloc[0]) for name in ("start_ns", "end_ns", "chain"))
    window = (database, run, start_ns, end_ns)
    stages = _Stages(progress)
    rows = stages.run("walking the critical path", lambda: path.critical_path(*window, chain))
    hotspots = stages.run("ranking hotspots", lambda: path.hotspots(*window, chain, limit=top))
    gaps = stages.run("ranking gaps", lambda: path.path_gaps(*window, chain))
    pixel_ns = max(1, (end_ns - start_ns) // _PIXELS)
    drawn = stages.run("reading the lanes", lambda: timeline.lane_timeline(*window, pixel_ns))
    waits = stages.run("looking for what threads wait for", lambda: _waits(window))
    step_paths, recurring = stages.run("comparing steps", lambda: _compare_steps(database, run, step))
    near_slack_ns = max(1, (end_ns - start_ns) // _NEAR_SLACK_PART)
    near_critical, second_causes = stages.run(
        "looking for what is critical next", lambda: _critical_next(window, chain, near_slack_ns)
    )
    return Findings(
        details=_details(database, run, {**timings_s, **stages.timings_s}),
        start_ns=start_ns,
        end_ns=end_ns,
        step=step,
        path=rows.fillna({"mechanism": "", "evidence": ""}),
        hotspots=hotspots,
        gaps=gaps,
        lanes=inventory.lanes(database, run),
        timeline=drawn,
        waits=waits,
        gpu=timeline.gpu_busy(*window),
        steps=inventory.steps(database, run),
        step_paths=step_paths,
        recurring=recurring,
        near_slack_ns=near_slack_ns,
        near_critical=near_critical,
        second_causes=second_causes,
        topics=_topics(*window),
    )


def _compare_steps(database: Database, run: str, step: int | None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return every step's path and what recurs on them; nothing for a report on one step."""
    if step is not None:
        return pd.DataFrame(), pd.DataFrame()
    hotspots = steps.step_hotspots(database, run)
    paths = steps.describe_steps(inventory.steps(database, run), hotspots)
    return paths, steps.find_recurring(hotspots).head(_RECURRING_ROWS)


def _waits(window: tuple[Database, str, int, int]) -> pd.DataFrame:
    """Return the waits of each thread by name that make at least a 100th of the window."""
    least_ns = (window[3] - window[2]) // _WAIT_LEAST_PART
    return timeline.lane_waits(*window, least_ns=least_ns, limit=_WAIT_ROWS)


def _critical_next(
    window: tuple[Database, str, int, int], chain: int, near_slack_ns: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the events with the least slack, and the second causes of the hotspots."""
    least_ns = (window[3] - window[2]) // _NEAR_LEAST_PART
    near = timeline.near_critical(*window, slack_ns=near_slack_ns, least_ns=least_ns, limit=_NEAR_ROWS)
    return near, path.second_causes(*window, chain, limit=_NEAR_ROWS)


def _topics(database: Database, run: str, start_ns: int, end_ns: int) -> dict[str, pd.DataFrame]:
    wanted = "\n".join(beginning for beginnings in TOPICS.values() for beginning in beginnings)
    found = events.events_about(database, run, start_ns, end_ns, wanted)
    return {topic: found[found["beginning"].isin(beginnings)] for topic, beginnings in TOPICS.items()}


def _details(database: Database, run: str, timings_s: Mapping[str, float]) -> RunDetails:
    stored = inventory.run_details(database, run).iloc[0]
    files = inventory.traces(database, run)
    return RunDetails(
        name=run,
        ranks=int(stored["ranks"]),
        events=int(stored["events"]),
        nodes=int(stored["nodes"]),
        nodes_by_label=json.loads(stored["nodes_by_label"]),
        relationships=json.loads(stored["relationships"]),
        integrity=json.loads(stored["integrity"]),
        timings_s=timings_s,
        versions=_versions(database, str(stored["tool_version"]), files),
        cross_thread=str(stored["cross_thread"]),
        # A run that an earlier version stored has neither.
        alternatives=json.loads(stored["alternatives"] or "[]"),
        what_next=json.loads(stored["what_next"] or "[]"),
        sources=tuple(
            Source(file, sha256, int(rank), int(offset))
            for rank, file, sha256, offset in zip(
                files["rank"], files["file"], files["sha256"], files["clock_offset_ns"], strict=True
            )
        ),
    )


def _versions(database: Database, tool_version: str, files: pd.DataFrame) -> dict[str, str]:
    """Return the versions of tracegraph at ingest, of the server, and those that the trace states."""
    stated = json.loads(files["versions"].iloc[0]) if len(files) else {}
    agent = database.driver.get_server_info().agent
    return {"tracegraph": tool_version, "neo4j": agent.rpartition("/")[2], **stated}
