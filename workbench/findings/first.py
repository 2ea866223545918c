"""What to change first: the fixes that a run shows, by gain, else the part of the code that holds most."""

from collections.abc import Mapping, Sequence
from typing import Any

from tracegraph.ingest.causal.steps.phase_names import phase_of
from tracegraph.vocabulary.categories import GAP, GPU_WORK, Role, has_role
from tracegraph.vocabulary.python_frames import is_library
from tracegraph.vocabulary.step_names import step_number
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.findings.topics import TOPICS, is_about
from tracegraph.workbench.text.names import quoted
from tracegraph.workbench.text.text import format_ns, format_times

_WHOLE, _OWN, _LIBRARY, _MOST = 0.6, 0.5, 0.9, 2 / 3
_LITTLE = 0.005
_DAY_H = 24
_PYTORCH = ("aten::", "autograd::")
NOTHING = "No fix that is known here gains 1 % of the run."
Row = Mapping[str, Any]


def named_part(findings: Findings) -> Row | None:
    """Return the row of `potential` of the part of the code that gains most; None where nothing is one.

    GPU work, calls, waits and PyTorch's own operators are none: a part makes them. What holds most of the
    path without working by itself, a step and a phase are the program rather than a part: there it is the
    deepest part inside with most of the gain, if one has.
    """
    rows = [row for row in findings.potential if row["gain_ns"] > 0 and _is_code(findings, row)]
    rows.sort(key=_weight, reverse=True)
    whole = [row for row in rows if _is_whole(findings, row)]
    for row in whole:
        inside = [part for part in rows if not _marks(part) and _is_inside(rows, part, str(row["name"]))]
        most = [part for part in inside if part["gain_ns"] >= _MOST * row["gain_ns"]]
        if most:
            return min(most, key=lambda part: int(part["path_ns"]))
    return next((row for row in rows if row not in whole), None)


def _is_code(findings: Findings, row: Row) -> bool:
    """Whether a row is about code, and no topic that has a rule of its own: loading data, communication."""
    if row["category"] == GAP or has_role(row["category"], *GPU_WORK, Role.CALL):
        return False
    if has_role(row["category"], Role.OPERATOR) and str(row["name"]).startswith(_PYTORCH):
        return False
    return not any(is_about(topic, row, findings.topics[topic], findings.path) for topic in TOPICS)


def _is_whole(findings: Findings, row: Row) -> bool:
    """Whether a name is the program rather than a part of it: by what it marks, or what it holds.

    What spends most of that time itself, as a call that sleeps, is a part.
    """
    if _marks(row):
        return True
    held = max(row["path_ns"], row["gain_ns"]) / row["base_ns"]
    is_own = (findings.path["name"] == row["name"]) & (findings.path["category"] == row["category"])
    return bool(held > _WHOLE and findings.share(findings.durations[is_own].sum()) <= _OWN * held)


def _marks(row: Row) -> bool:
    """Whether an annotation marks a step or a phase."""
    name = str(row["name"])
    marks = step_number(name) is not None or phase_of(name, is_annotation=True) is not None
    return marks and has_role(row["category"], Role.ANNOTATION)


def _is_inside(rows: Sequence[Row], part: Row, name: str) -> bool:
    """Whether a part is inside what has this name, perhaps inside of something else there."""
    holders = {str(row["name"]): row["inside"] for row in rows}
    holder, seen = part["inside"], set[str]()
    while holder is not None and holder not in seen:
        if holder == name:
            return True
        seen.add(holder)
        holder = holders.get(holder)
    return False


def _weight(row: Row) -> float:
    """Return the gain; a library's own name counts for a little less than the user's."""
    of_library = is_library(str(row["name"]), str(row["category"]))
    return float(row["gain_ns"]) * (_LIBRARY if of_library else 1.0)


def what_to_change(findings: Findings) -> Sequence[Row]:
    """Give what to change, the first first: rows of `fixes`, else that of `named_part`; about the whole run.

    A fix has its title as its name.
    """
    fixes = [{**row, "name": row["title"]} for row in findings.details.fixes]
    part = None if fixes else named_part(findings)
    return [part] if part else fixes


def said_first(findings: Findings, row: Row) -> str:
    """Return the sentence about a row of `what_to_change`."""
    if "fix" in row:
        return f"{row['title']}: {row['evidence']}. That would gain {said_gain(findings, row)}."
    where = "the whole run" if findings.part else "the run"
    faster = f"{format_times(row['speedup'])} times as fast" if row["speedup"] else "done"
    missing = f"{NOTHING} " if findings.bounds else ""
    gain = f"{_gain(findings, row)}{_worth(findings, row)}"
    return f"{missing}Without {quoted(str(row['name']))} {where} would be {faster}: it gains {gain}."


def said_gain(findings: Findings, row: Row) -> str:
    """Return what a fix gains, with the range, in a few words."""
    where = "the whole run " if findings.part else ""
    faster = f", {where}{format_times(row['speedup'])} times as fast" if row["speedup"] else ""
    return f"{_gain(findings, row)}{faster}{_worth(findings, row)}"


def _gain(findings: Findings, row: Row) -> str:
    likely = f"{format_ns(row['low_ns'])} to {format_ns(row['high_ns'])}"
    likely += ", without what recording cost" if is_corrected(findings, row["base_ns"]) else ""
    return f"{format_ns(row['gain_ns'])} of {format_ns(row['base_ns'])} ({likely})"


def is_corrected(findings: Findings, base_ns: int) -> bool:
    """Whether the length that a gain is of is shorter than the recorded one, without what recording cost."""
    return not findings.part and base_ns < (1 - _LITTLE) * findings.length_ns


def _worth(findings: Findings, row: Row) -> str:
    """Express a gain in GPU-hours, samples and tokens, if the user says how large the job is."""
    return "".join(f", {text}" for text in worth(findings, row).values())


def worth(findings: Findings, row: Row) -> dict[str, str]:
    """Return the gain of a row of `what_to_change` in what the job costs and yields, as texts by key."""
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
