"""Asks for everything that a report shows."""

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from tracegraph.queries.answers import Answers
from tracegraph.queries.module import in_types
from tracegraph.queries.run_part import WHOLE, RunPart
from tracegraph.queries.runs import find_window
from tracegraph.queries.shapes.path.rows import PATH_COLUMNS
from tracegraph.queries.shapes.path.sums import largest, with_steps_merged
from tracegraph.queries.shapes.peak.job import NOTHING_SAID, Job, read_job
from tracegraph.store.connection import Database
from tracegraph.store.kept_answers import KeptAnswers, nullable
from tracegraph.store.workspace import Workspace
from tracegraph.vocabulary.phases import spelt
from tracegraph.workbench.findings.findings import Findings, RunDetails, Source
from tracegraph.workbench.findings.topics import COMMUNICATION, TOPICS, events_of
from tracegraph.workbench.output.counters import counter_questions
from tracegraph.workbench.sections.section import Scope, questions

_PATH = "critical_path"
_ABOUT = "events_about"
_RECURRING = 10
"""How many recurring hotspots a report lists."""
_LONGEST = (
    _PATH,
    "step_paths",
    "phase_paths",
    "recurring_hotspots",
    "hotspots",
    "second_causes",
    "path_gaps",
    "lane_timeline",
)
"""The queries that take longest; two sessions finish at about the same time if these begin first."""
_FIRST = (_ABOUT, "outliers", "gpu_busy", "path_gaps", "traces", "lanes", "steps")
"""What the first screen reads besides the path and what its own sections ask; the longest first."""
_NAMED = {
    "hotspots": "hotspots",
    "gaps": "path_gaps",
    "lanes": "lanes",
    "timeline": "lane_timeline",
    "waits": "lane_waits",
    "gpu": "gpu_busy",
    "steps": "steps",
    "step_paths": "step_paths",
    "recurring": "recurring_hotspots",
    "near_critical": "near_critical",
    "second_causes": "second_causes",
    "silences": "path_silences",
}
"""The fields of findings that are rows of a query, and which."""


def collect_findings(
    answers: Answers,
    workspace: Workspace,
    run: str,
    *,
    part: RunPart = WHOLE,
    top: int,
    drawn: bool,
    timings_s: Mapping[str, float],
    first_only: bool = False,
    thresholds: Mapping[str, float] | None = None,
    job: Job | None = None,
) -> Findings:
    """Collect the findings of a run that is ready, or of a step or phase of it.

    Parameters
    ----------
    top
        How many of the largest hotspots are kept.
    drawn
        Also ask for the rows that the lanes are drawn from, which takes as long as two other questions.
    timings_s
        Seconds of earlier stages; those of the queries are added.
    first_only
        Ask no more than the first screen reads: a tenth of the time. Everything else then has no rows.
    thresholds
        Thresholds of recommendations by rule, 0..1, that replace the defaults.
    job
        What the user says about the job; it counts more than what was said at ingest.
    phase, occurrence
        A phase, and which of several of that name in the step, from 1; by default the last.

    Raises
    ------
    InputError
        The run has no such step or phase.
    StoreError
        The server failed, or the run is damaged.
    """
    details = answers.of("run_details", {"run": run}).iloc[0]
    timings = dict(timings_s)
    part = replace(part, phase=None if part.phase is None else spelt(part.phase))
    at_ingest = read_job(details["job"])
    said = (job or NOTHING_SAID).over(at_ingest)

    def heard(module: str, seconds: float) -> None:
        timings[f"query {module}"] = round(seconds, 3)

    if not first_only:
        answers.begin_indexes()
    window = find_window(answers.of, run, part)
    scope = Scope(run, window, part, drawn, int(details["ranks"]), said)
    found: dict[str, pd.DataFrame] = {}
    if drawn and not first_only:
        about = found[_ABOUT] = answers.of(_ABOUT, questions(scope)[_ABOUT])
        scope = replace(scope, communicates=communicates(details, scope, about))
    asked = {**questions(scope), **counter_questions(scope)}
    if first_only:
        asked = {name: asked[name] for name in _FIRST} | questions(scope, in_short=True)
    begun = time.perf_counter()
    path = _whole_path(workspace, answers.kept, details) if not part else None
    if path is None:
        asked = {_PATH: {"run": run, **vars(window)}, **asked}
    else:
        timings["reading the critical path"] = round(time.perf_counter() - begun, 3)

    asked = {name: values for name, values in asked.items() if name not in found}
    found |= answers.of_all(_longest_first(asked), heard)
    path = _categorical(found[_PATH] if path is None else path)
    return Findings(
        details=_details(answers.database, details, found["traces"], timings),
        start_ns=window.start_ns,
        end_ns=window.end_ns,
        part=part,
        path=path.assign(**{name: _filled(path[name]) for name in ("mechanism", "evidence")}),
        answers=found,
        thresholds=thresholds or {},
        job=said,
        job_at_ingest=at_ingest,
        **_frames(found, top),
    )


def communicates(details: "pd.Series[Any]", scope: Scope, about: pd.DataFrame) -> bool:
    """Tell cheaply whether ranks may communicate, from the rows of `events_about`: one rank's kernels say it.

    Without kernels the names of its threads' events do. What is only about communication reads all work of a
    run, which takes seconds where there is none, too.
    """
    found = events_of(COMMUNICATION, about)
    if "Kernel" in json.loads(details["nodes_by_label"]):
        found = found[found["kernel_type"].notna()]
    return scope.ranks > 1 or len(found) > 0


def _frames(found: Mapping[str, pd.DataFrame], top: int) -> dict[str, Any]:
    """Choose from the answers those that findings hold by name; what was not asked has no rows."""
    of = {**dict.fromkeys(_NAMED.values(), pd.DataFrame()), **found}
    hotspots = (
        largest(with_steps_merged(of["hotspots"], of["steps"]), top)
        if "hotspots" in found
        else of["hotspots"]
    )
    return {
        **{field: of[query] for field, query in _NAMED.items()},
        "hotspots": hotspots,
        "recurring": of["recurring_hotspots"].head(_RECURRING),
        "topics": {topic: events_of(topic, of[_ABOUT]) for topic in TOPICS},
    }


def _longest_first(asked: Mapping[str, Mapping[str, object]]) -> dict[str, Mapping[str, object]]:
    rest = (name for name in asked if name not in _LONGEST)
    return {name: asked[name] for name in (*_LONGEST, *rest) if name in asked}


def _whole_path(workspace: Workspace, kept: KeptAnswers, details: "pd.Series[Any]") -> pd.DataFrame | None:
    """Read the path of the whole run from its kept columns; None if it is not kept.

    A million rows of the database would take a minute.
    """
    if not kept.hold():
        return None
    rows = workspace.rows(str(details["name"]), str(details["created"]), _PATH)
    return None if rows is None else rows.to_pandas(types_mapper=nullable, split_blocks=True)


def _categorical(path: pd.DataFrame) -> pd.DataFrame:
    """Turn texts into categories: a million rows have a few hundred different texts."""
    texts = [column.name for column in PATH_COLUMNS if column.type == "STRING"]
    return in_types(path, PATH_COLUMNS).astype(dict.fromkeys(texts, "category"))


def _filled(texts: "pd.Series[Any]") -> "pd.Series[Any]":
    """Put an empty text where a category is missing."""
    missing = {""} - set(texts.cat.categories)
    return texts.cat.add_categories(sorted(missing)).fillna("")


def _details(
    database: Database, stored: "pd.Series[Any]", files: pd.DataFrame, timings_s: Mapping[str, float]
) -> RunDetails:
    return RunDetails(
        name=str(stored["name"]),
        ranks=int(stored["ranks"]),
        events=int(stored["events"]),
        nodes=int(stored["nodes"]),
        nodes_by_label=json.loads(stored["nodes_by_label"]),
        relationships=json.loads(stored["relationships"]),
        integrity=json.loads(stored["integrity"]),
        timings_s=timings_s,
        versions=_versions(database, str(stored["tool_version"]), files),
        cross_thread=str(stored["cross_thread"]),
        # A run that an earlier version stored lacks these properties.
        scenario_of=stored["scenario_of"] or None,
        alternatives=json.loads(stored["alternatives"] or "[]"),
        what_next=json.loads(stored["what_next"] or "[]"),
        potential=json.loads(stored["potential"] or "[]"),
        fixes=json.loads(stored["fixes"] or "[]"),
        bounds=json.loads(stored["bounds"] or "{}"),
        stragglers=json.loads(stored["stragglers"] or "{}"),
        sources=tuple(
            Source(
                file=row["file"],
                sha256=row["sha256"],
                rank=int(row["rank"]),
                clock_offset_ns=int(row["clock_offset_ns"]),
                clock_drift_ppb=int(row["clock_drift_ppb"]),
                window_start_ns=int(stored["window_start_ns"]),
                rank_offset_ns=int(row["rank_offset_ns"]),
                rank_drift_ppb=int(row["rank_drift_ppb"]),
                in_short=bool(row["in_short"]),
            )
            for row in files.to_dict("records")
        ),
    )


def _versions(database: Database, tool_version: str, files: pd.DataFrame) -> dict[str, str]:
    """Collect the versions of tracegraph at ingest, of the server, and those that the trace states."""
    stated = json.loads(files["versions"].iloc[0]) if len(files) else {}
    agent = database.driver.get_server_info().agent
    return {"tracegraph": tool_version, "neo4j": agent.rpartition("/")[2], **stated}
