"""The answer first: what determines the length, what to change first, and what is not known."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tracegraph.store.categories import GAP, GPU_WORK, Role, has_role
from tracegraph.store.gaps import LAUNCH_LATENCY, WAITING_FOR_GIL, WAITING_FOR_GPU, WAITING_FOR_RANK
from tracegraph.store.python_frames import is_library
from tracegraph.workbench.names import readable
from tracegraph.workbench.report.bottleneck import Bottleneck, shares, waiting_share
from tracegraph.workbench.report.contradictions import Contradiction, contradiction
from tracegraph.workbench.report.findings import Findings
from tracegraph.workbench.report.mixed_ranks import ADVICE, mixed_share
from tracegraph.workbench.report.outliers import outlier
from tracegraph.workbench.report.topics import COMMUNICATION, DATA_LOADING, TOPICS, is_about
from tracegraph.workbench.text import format_ns, format_share, format_times, label, plural

_MOST_GAINS = 3
_MUCH_MORE = 2
"""What gains so many times more than all that is about the bottleneck comes before it."""
_NAME_CELLS = 60
_PART, _JOB, _OWN, _LIBRARY = 0.1, 0.6, 0.5, 0.9
_UNCLEAR, _DOUBT, _HALF, _WAITING = 0.05, 0.3, 0.5, 0.01
_DAY_H = 24
_NOT_SHOWN = "which of the two determines the length, which the file does not show"
_OF_PATH = ("path_unrecorded", "path_mostly_unrecorded")
"""Findings that say what is said of the path itself."""
_MIXED = (
    "No verdict: work of several ranks is mixed in the file, as where a tool merged them, and nothing proves "
    "whose is whose.",
    f"Not known: what any rank does. {ADVICE}",
)
_BOUND: Mapping[Bottleneck, tuple[str, str]] = {
    "cpu": ("The CPU", "is work of its threads"),
    "gpu": ("The GPU", "is kernels, copies and the queue before them"),
    "communication": ("Communication", "is in collectives and their calls"),
    "data_loading": ("Data loading", "is inside the DataLoader"),
    "synchronisation": ("Waiting for the GPU", "is in calls that synchronise"),
    "launch": ("Launching GPU work", "is launching calls and their latency"),
    "gil": ("The GIL", "is waiting for it"),
    "other_rank": ("Another rank", "is waiting for it"),
    "unknown": ("Something that the file does not hold", "has no record or no explanation"),
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
    """The verdict on the window of a report; none where the input does not allow one."""
    if mixed_share(findings):
        return Verdict("unknown", 0.0, _MIXED, [])
    bottleneck, share = next(iter(shares(findings).items()))
    untold = contradiction(findings)
    if untold:
        bottleneck = "unknown"
    ranked = _ranked(findings, bottleneck)
    if untold:  # by the same doubt no gain of the CPU's is one
        ranked = [row for row in ranked if not _is_about(findings, row, "cpu")]
    gains = [] if _cannot_tell(findings, ranked) else ranked[:_MOST_GAINS]
    first = _untold(untold, share) if untold else _determines(findings, bottleneck, share, ranked)
    sentences = [" ".join(filter(None, [first, outlier(findings)]))]
    if gains or ranked:
        sentences.append(_change(findings, gains[0]) if gains else _no_change(findings))
    sentences.append(_unknown(findings, bottleneck, gains, (_NOT_SHOWN,) if untold else ()))
    return Verdict(bottleneck, share, sentences, gains)


def _cannot_tell(findings: Findings, ranked: Sequence[Mapping[str, Any]]) -> bool:
    """Whether so much of the path is not in the file, or has no cause, that what gains most may be there."""
    most = max((findings.share(row["gain_ns"]) for row in ranked), default=0.0)
    return findings.unrecorded_share + findings.unknown_share >= max(_DOUBT, min(most, _HALF))


def _no_change(findings: Findings) -> str:
    named = [(share, f"is {name}, not in the file") for name, share in findings.unrecorded.items()]
    share, what = max([*named, (findings.unknown_share, "has no explanation")])
    return f"What to change first cannot be told: {format_share(share)} of the path {what}."


def _ranked(findings: Findings, bottleneck: Bottleneck) -> list[Mapping[str, Any]]:
    """What could be gained, first what is about the bottleneck, or gains much more than that.

    The user's own names come before a library's.
    """
    rows = [row for row in findings.potential if row["gain_ns"] > 0]
    most = max((_weight(row) for row in rows if _is_about(findings, row, bottleneck)), default=0.0)

    def rank(row: Mapping[str, Any]) -> tuple[bool, bool, float]:
        is_first = _is_about(findings, row, bottleneck) or _weight(row) >= _MUCH_MORE * most
        return not is_first, _is_job(findings, row), -_weight(row)

    return sorted(rows, key=rank)


def parts_of_job(findings: Findings) -> list[Mapping[str, Any]]:
    """Names of the code, no waits or topics, by what they gain: the user's own before a library's."""
    rows = [row for row in findings.potential if row["gain_ns"] > 0 and row["category"] != GAP]
    parts = (row for row in rows if not _is_job(findings, row) and not _is_topic(findings, row))
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


def _is_topic(findings: Findings, row: Mapping[str, Any]) -> bool:
    """Whether its name is about a topic, which has a rule of its own: data loading or communication."""
    return any(is_about(topic, row, findings.topics[topic], findings.path) for topic in TOPICS)


def _is_about(findings: Findings, row: Mapping[str, Any], bottleneck: Bottleneck) -> bool:
    category, name = str(row["category"]), str(row["name"])
    if bottleneck in _TOPIC:
        topic = _TOPIC[bottleneck]
        return is_about(topic, row, findings.topics[topic], findings.path)
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
        about = [row for row in ranked if row["category"] != GAP and _is_about(findings, row, bottleneck)]
        apart = [row for row in about[1:] if not (_holds(row, about[0]) or _holds(about[0], row))]
        parts = [
            f"{format_share(_held(findings, row))} inside {_name(row)}"
            for row in [*about[:1], *apart[:1]]
            if _held(findings, row) >= _PART and not _is_topic(findings, row)
        ]
        sentence += f", {' and '.join(parts)}" if parts else ""
    return f"{sentence}."


def _untold(untold: Contradiction, share: float) -> str:
    """What is said where the CPU works on the path and a GPU works as long beside it."""
    said = (
        f"Whether the CPU or the GPU determines the length cannot be told: {format_share(share)} of the path "
        f"is work of CPU threads, but a GPU works for {format_share(untold.busy)} of the window"
    )
    if untold.gain_ns is None:
        return f"{said}."
    name, gain = _name({"name": untold.name}), format_ns(untold.gain_ns)
    return f"{said}, and without {name}, the longest of that work, the run would be only {gain} shorter."


def _held(findings: Findings, row: Mapping[str, Any]) -> float:
    """Share of the path inside a name; of GPU work without the time that it stood in a queue."""
    if not has_role(row["category"], *GPU_WORK):
        return findings.share(row["path_ns"])
    own = (findings.path["name"] == row["name"]) & (findings.path["category"] == row["category"])
    return findings.share(int(findings.durations[own].sum()))


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


def _unknown(
    findings: Findings, bottleneck: Bottleneck, gains: Sequence[Mapping[str, Any]], first: Sequence[str] = ()
) -> str:
    parts = [*first, *_doubts(findings, bottleneck, gains)]
    return f"Not known: {'; '.join(parts[:3])}." if parts else "No part of the path is unexplained."


def _doubts(findings: Findings, bottleneck: Bottleneck, gains: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if findings.unrecorded_share >= _UNCLEAR:
        named = ", ".join(f"{format_share(share)} {name}" for name, share in findings.unrecorded.items())
        yield f"what ran in {format_share(findings.unrecorded_share)} of the path, not in the file: {named}"
    if findings.unclear_share >= _UNCLEAR:
        yield f"what runs in {format_share(findings.unclear_share)} of the path, which was not recorded"
    if gains and gains[0]["inferred_share"] >= _DOUBT:
        yield f"{format_share(gains[0]['inferred_share'])} of that gain hangs on inferred dependencies"
    if bottleneck == "communication" and findings.details.ranks == 1:
        yield "how much of it is waiting for slower ranks, which one file cannot tell"
    odd = [
        row
        for row in findings.details.integrity
        if row["level"] in ("warning", "error") and row["code"] not in _OF_PATH
    ]
    if odd:
        yield f"what {plural(len(odd), 'finding')} about the input may hide"


def _name(row: Mapping[str, Any]) -> str:
    name = str(row["name"])
    return f"`{label(readable([name])[name], _NAME_CELLS)}`"
