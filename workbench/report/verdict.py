"""The answer first: what determines the length, what to change first, and what is not known."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tracegraph.store.categories import GAP, GPU_WORK, Role, has_role
from tracegraph.store.gaps import LAUNCH_LATENCY, WAITING_FOR_GIL, WAITING_FOR_GPU, WAITING_FOR_RANK
from tracegraph.store.python_frames import is_library
from tracegraph.workbench.names import readable
from tracegraph.workbench.report.bottleneck import Bottleneck, shares, waiting_share
from tracegraph.workbench.report.findings import Findings
from tracegraph.workbench.report.topics import COMMUNICATION, DATA_LOADING, TOPICS
from tracegraph.workbench.text import format_ns, format_share, format_times, label, plural

_MOST_GAINS = 3
_MUCH_MORE = 2
"""What gains so many times more than all that is about the bottleneck comes before it."""
_NAME_CELLS = 60
_PART, _JOB, _OWN, _LIBRARY = 0.1, 0.6, 0.5, 0.9
_UNCLEAR, _DOUBT, _WAITING = 0.05, 0.3, 0.01
_DAY_H = 24
_BOUND: Mapping[Bottleneck, tuple[str, str]] = {
    "cpu": ("The CPU", "is work of its threads"),
    "gpu": ("The GPU", "is kernels, copies and the queue before them"),
    "communication": ("Communication", "is in collectives and their calls"),
    "data_loading": ("Data loading", "is inside the DataLoader"),
    "synchronisation": ("Waiting for the GPU", "is in calls that synchronise"),
    "launch": ("Launching GPU work", "is launching calls and their latency"),
    "gil": ("The GIL", "is waiting for it"),
    "other_rank": ("Another rank", "is waiting for it"),
    "unknown": ("Something that the file does not hold", "has no explanation"),
}
_WAITS: Mapping[Bottleneck, str] = {
    "gil": WAITING_FOR_GIL,
    "other_rank": WAITING_FOR_RANK,
    "launch": LAUNCH_LATENCY,
    "synchronisation": WAITING_FOR_GPU,
}
_TOPIC: Mapping[Bottleneck, str] = {"data_loading": DATA_LOADING, "communication": COMMUNICATION}


@dataclass(frozen=True)
class Verdict:
    """What bounds the run or step, in at most three sentences; `gains`: what to change, the first first.

    `gains` are rows of `potential`, which is about the whole run.
    """

    bottleneck: Bottleneck
    share: float
    sentences: Sequence[str]
    gains: Sequence[Mapping[str, Any]]


def judge(findings: Findings) -> Verdict:
    """The verdict on the window of a report."""
    bottleneck, share = next(iter(shares(findings).items()))
    ranked = _ranked(findings, bottleneck)
    gains = ranked[:_MOST_GAINS]
    sentences = [_determines(findings, bottleneck, share, ranked)]
    sentences += [_change(findings, gains[0])] if gains else []
    sentences.append(_unknown(findings, bottleneck, gains))
    return Verdict(bottleneck, share, sentences, gains)


def _ranked(findings: Findings, bottleneck: Bottleneck) -> list[Mapping[str, Any]]:
    """What could be gained, first what is about the bottleneck, or gains much more than that.

    The user's own names come before a library's.
    """
    rows = [row for row in findings.potential if row["gain_ns"] > 0]
    most = max((_weight(row) for row in rows if _is_about(row, bottleneck)), default=0.0)

    def rank(row: Mapping[str, Any]) -> tuple[bool, bool, float]:
        is_first = _is_about(row, bottleneck) or _weight(row) >= _MUCH_MORE * most
        return not is_first, _is_job(findings, row), -_weight(row)

    return sorted(rows, key=rank)


def parts_of_job(findings: Findings) -> list[Mapping[str, Any]]:
    """Names of the code, no waits or topics, by what they gain: the user's own before a library's."""
    rows = [row for row in findings.potential if row["gain_ns"] > 0 and row["category"] != GAP]
    parts = (row for row in rows if not _is_job(findings, row) and not _is_topic(row))
    return sorted(parts, key=_weight, reverse=True)


def _is_job(findings: Findings, row: Mapping[str, Any]) -> bool:
    """Whether a function holds so much of the path that it is the job rather than a part of it.

    What spends most of that time itself, as a call that sleeps, is a part.
    """
    held = max(row["path_ns"], row["gain_ns"]) / row["base_ns"]
    if not has_role(row["category"], Role.FRAME) or held <= _JOB:
        return False
    is_own = (findings.path["name"] == row["name"]) & (findings.path["category"] == row["category"])
    return bool(findings.share(findings.durations[is_own].sum()) <= _OWN * held)


def _weight(row: Mapping[str, Any]) -> float:
    of_library = is_library(str(row["name"]), str(row["category"]))
    return float(row["gain_ns"]) * (_LIBRARY if of_library else 1.0)


def _is_topic(row: Mapping[str, Any]) -> bool:
    """Whether its name is about a topic, which has a rule of its own: data loading or communication."""
    return str(row["name"]).startswith(tuple(start for topic in _TOPIC.values() for start in TOPICS[topic]))


def _is_about(row: Mapping[str, Any], bottleneck: Bottleneck) -> bool:
    category, name = str(row["category"]), str(row["name"])
    if bottleneck in _TOPIC and name.startswith(TOPICS[_TOPIC[bottleneck]]):
        return True
    if bottleneck in _WAITS:
        return name == _WAITS[bottleneck]
    if bottleneck == "gpu":
        return has_role(category, *GPU_WORK, Role.OPERATOR)
    return bottleneck == "cpu" and category != GAP and not has_role(category, *GPU_WORK)


def _determines(
    findings: Findings, bottleneck: Bottleneck, share: float, ranked: Sequence[Mapping[str, Any]]
) -> str:
    who, what = _BOUND[bottleneck]
    waits = waiting_share(findings) if bottleneck == "cpu" else 0.0
    waits = waits if waits >= _WAITING else 0.0
    sentence = f"{who} determines the length: {format_share(share - waits)} of the path {what}"
    sentence += f" and {format_share(waits)} their waits for a turn or for each other" if waits else ""
    if not findings.part:
        about = [row for row in ranked if row["category"] != GAP and _is_about(row, bottleneck)]
        apart = [row for row in about[1:] if not (_holds(row, about[0]) or _holds(about[0], row))]
        parts = [
            f"{format_share(findings.share(row['path_ns']))} inside {_name(row)}"
            for row in [*about[:1], *apart[:1]]
            if findings.share(row["path_ns"]) >= _PART and not _is_topic(row)
        ]
        sentence += f", {' and '.join(parts)}" if parts else ""
    return f"{sentence}."


def _holds(row: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return bool(other["inside"] == row["name"])


def _change(findings: Findings, row: Mapping[str, Any]) -> str:
    where = "the whole run" if findings.part else "the run"
    faster = f"{format_times(row['speedup'])} times as fast" if row["speedup"] else "done"
    gain = f"{format_ns(row['gain_ns'])} of {format_ns(row['base_ns'])}"
    likely = f"{format_ns(row['low_ns'])} to {format_ns(row['high_ns'])}"
    likely += ", corrected for recording" if row.get("basis") == "corrected" else ""
    what = f"Without {_name(row)}" if row["category"] != GAP else f"Without {row['name']}"
    return f"{what} {where} would be {faster}: it gains {gain} ({likely}){_worth(findings, row)}."


def _worth(findings: Findings, row: Mapping[str, Any]) -> str:
    """What a gain is worth in GPU-hours, samples and tokens, where the user says how large the job is."""
    parts = list(worth(findings, row).values())
    return "".join(f", {text}" for text in parts)


def worth(findings: Findings, row: Mapping[str, Any]) -> dict[str, str]:
    """The gain of a row of `potential` in what the job costs and yields, as texts by key."""
    job, left = findings.job, row["base_ns"] - row["gain_ns"]
    said: dict[str, str] = {}
    if job.gpus:
        hours = job.gpus * _DAY_H * row["gain_ns"] / row["base_ns"]
        said["gpu_hours_a_day"] = f"{hours:.3g} GPU-hours a day"
    steps = findings.steps["number"].nunique()
    for amount, word in ((job.batch, "samples"), (job.tokens, "tokens")):
        if amount and steps and left > 0:
            before, after = (amount * steps / (ns / 1e9) for ns in (row["base_ns"], left))
            said[f"{word}_a_second"] = f"{before:,.4g} → {after:,.4g} {word} a second"
    return said


def _unknown(findings: Findings, bottleneck: Bottleneck, gains: Sequence[Mapping[str, Any]]) -> str:
    parts = list(_doubts(findings, bottleneck, gains))
    return f"Not known: {'; '.join(parts[:3])}." if parts else "No part of the path is unexplained."


def _doubts(findings: Findings, bottleneck: Bottleneck, gains: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if findings.unclear_share >= _UNCLEAR:
        yield f"what runs in {format_share(findings.unclear_share)} of the path, which was not recorded"
    if gains and gains[0]["inferred_share"] >= _DOUBT:
        yield f"{format_share(gains[0]['inferred_share'])} of that gain hangs on inferred dependencies"
    if bottleneck == "communication" and findings.details.ranks == 1:
        yield "how much of it is waiting for slower ranks, which one file cannot tell"
    odd = [row for row in findings.details.integrity if row["level"] in ("warning", "error")]
    if odd:
        yield f"what {plural(len(odd), 'finding')} about the input may hide"


def _name(row: Mapping[str, Any]) -> str:
    name = str(row["name"])
    return f"`{label(readable([name])[name], _NAME_CELLS)}`"
