"""Asks the database for everything a report shows."""

import json
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import pandas as pd

from tracegraph.cli.answers import Answers
from tracegraph.cli.findings import Findings, RunDetails, Source
from tracegraph.cli.path_sums import largest_events, largest_gaps
from tracegraph.ingest.answers.asked import TOPICS, ask, near_slack_ns
from tracegraph.ingest.causal.segments import Window
from tracegraph.queries import inventory, steps, windows
from tracegraph.store.connection import Database
from tracegraph.store.progress import Progress
from tracegraph.store.workspace import Workspace

Answer = TypeVar("Answer")
_STAGES = 7
_RECURRING_ROWS = 10


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
    workspace: Workspace,
) -> Findings:
    """Return the findings of a run that is ready, or of one of its steps, with the `top` largest hotspots.

    `timings_s` are the seconds of earlier stages; those of the queries are added. What `workspace` keeps of
    the answers is taken from there: the database gives the same, a million rows in a minute.

    Raises:
        InputError: the run has no such step.
        StoreError: the server failed, or the run is damaged.
    """
    answers = Answers(database, run, workspace, progress)
    found = answers.of("run_window", {}) if step is None else windows.step_window(answers.indexed, run, step)
    start_ns, end_ns, chain = (int(found[name].iloc[0]) for name in ("start_ns", "end_ns", "chain"))
    window = Window(start_ns, end_ns)
    asked = ask(window, chain)
    stages = _Stages(progress)

    def answer(stage: str, query: str) -> pd.DataFrame:
        return stages.run(stage, lambda: answers.of(query, asked[query]))

    rows = stages.run("walking the critical path", lambda: answers.path(asked["critical_path"]))
    hotspots = stages.run("ranking hotspots", lambda: largest_events(rows, top))
    gaps = stages.run("ranking gaps", lambda: largest_gaps(rows))
    drawn = answer("reading the lanes", "lane_timeline")
    waits = answer("looking for what threads wait for", "lane_waits")
    all_steps = inventory.steps(database, run)
    step_paths, recurring = pd.DataFrame(), pd.DataFrame()
    if step is None:
        step_paths, recurring = _compare_steps(all_steps, answer("comparing steps", "step_hotspots"))
    near_critical = answer("looking for what is critical next", "near_critical")
    return Findings(
        details=_details(database, run, answers.details, {**timings_s, **stages.timings_s}),
        start_ns=start_ns,
        end_ns=end_ns,
        step=step,
        path=rows.assign(**{name: _filled(rows[name]) for name in ("mechanism", "evidence")}),
        hotspots=hotspots,
        gaps=gaps,
        lanes=inventory.lanes(database, run),
        timeline=drawn,
        waits=waits,
        gpu=answers.of("gpu_busy", asked["gpu_busy"]),
        steps=all_steps,
        step_paths=step_paths,
        recurring=recurring,
        near_slack_ns=near_slack_ns(window),
        near_critical=near_critical,
        second_causes=answers.of("second_causes", asked["second_causes"]),
        topics=_topics(answers.of("events_about", asked["events_about"])),
    )


def _filled(texts: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return categories with an empty text where there is none."""
    missing = {""} - set(texts.cat.categories)
    return texts.cat.add_categories(sorted(missing)).fillna("")


def _compare_steps(all_steps: pd.DataFrame, hotspots: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return every step's path and what recurs on them."""
    paths = steps.describe_steps(all_steps, hotspots)
    return paths, steps.find_recurring(hotspots).head(_RECURRING_ROWS)


def _topics(found: pd.DataFrame) -> dict[str, pd.DataFrame]:
    return {topic: found[found["beginning"].isin(beginnings)] for topic, beginnings in TOPICS.items()}


def _details(
    database: Database, run: str, stored: "pd.Series[Any]", timings_s: Mapping[str, float]
) -> RunDetails:
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
            Source(
                file=row["file"],
                sha256=row["sha256"],
                rank=int(row["rank"]),
                clock_offset_ns=int(row["clock_offset_ns"]),
                clock_drift_ppb=int(row["clock_drift_ppb"]),
                window_start_ns=int(stored["window_start_ns"]),
            )
            for row in files.to_dict("records")
        ),
    )


def _versions(database: Database, tool_version: str, files: pd.DataFrame) -> dict[str, str]:
    """Return the versions of tracegraph at ingest, of the server, and those that the trace states."""
    stated = json.loads(files["versions"].iloc[0]) if len(files) else {}
    agent = database.driver.get_server_info().agent
    return {"tracegraph": tool_version, "neo4j": agent.rpartition("/")[2], **stated}
