"""Finds what to change first: the fixes that a run shows, by gain, else the code that gains most."""

from collections.abc import Mapping, Sequence
from typing import Any

from tracegraph.base.units import short_ns
from tracegraph.ingest.causal.steps.phase_names import phase_of
from tracegraph.vocabulary.categories import GAP, GPU_WORK, Role, has_role
from tracegraph.vocabulary.python_frames import is_library
from tracegraph.vocabulary.step_names import step_number
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.findings.topics import TOPICS, is_about
from tracegraph.workbench.text.names import quoted
from tracegraph.workbench.text.text import format_rate, format_times

_WHOLE, _OWN, _LIBRARY, _MOST = 0.6, 0.5, 0.9, 2 / 3
"""Shares, 0..1, that tell the program from its parts.

What holds more than `_WHOLE` of the run and works for at most `_OWN` of that by itself is the program. A gain
of a library counts `_LIBRARY` times. A part inside stands for the whole if it has `_MOST` of its gain. The
half is a majority; the others were chosen by eye. A lower `_WHOLE` would pass over more functions that could
be fixed, a higher one would advise to make the program shorter. `_LIBRARY` lets the user's code win where a
library gains about as much; a lower `_MOST` would name a small part for the whole.
"""
_LITTLE = 0.005
"""A replayed run counts as corrected for the cost of recording if it is shorter by more than this share.
Chosen by eye: lengths are told with three digits, which show no smaller difference than .1 to 1 %."""
DAY_H = 24
"""Hours in a day."""
_PYTORCH = ("aten::", "autograd::")
"""Beginnings of the names of PyTorch's own operators, which are not parts of the user's code."""
NOTHING = "No fix that is known here gains 1 % of the run."
Row = Mapping[str, Any]


def named_part(findings: Findings) -> Row | None:
    """Find the row of `potential` of the part of the code that gains most; None if no row is a part.

    GPU work, calls, waits and PyTorch's own operators are not parts: a part causes them. Steps, phases and
    what holds most of the path without working by itself are the program rather than a part. Instead of those
    the deepest part inside with most of the gain is taken, if there is one.
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
    """Tell whether a row is about code, and not about loading data or communication, which have own rules."""
    if row["category"] == GAP or has_role(row["category"], *GPU_WORK, Role.CALL):
        return False
    if has_role(row["category"], Role.OPERATOR) and str(row["name"]).startswith(_PYTORCH):
        return False
    return not any(is_about(topic, row, findings.topics[topic], findings.path) for topic in TOPICS)


def _is_whole(findings: Findings, row: Row) -> bool:
    """Tell whether a name is the program rather than a part of it: by what it marks, or what it holds.

    What spends most of that time itself, as a call that sleeps, is a part.
    """
    if _marks(row):
        return True
    held = max(row["path_ns"], row["gain_ns"]) / row["base_ns"]
    is_own = (findings.path["name"] == row["name"]) & (findings.path["category"] == row["category"])
    return bool(held > _WHOLE and findings.share(findings.durations[is_own].sum()) <= _OWN * held)


def _marks(row: Row) -> bool:
    """Tell whether a row is an annotation that marks a step or a phase."""
    name = str(row["name"])
    marks = step_number(name) is not None or phase_of(name, is_annotation=True) is not None
    return marks and has_role(row["category"], Role.ANNOTATION)


def _is_inside(rows: Sequence[Row], part: Row, name: str) -> bool:
    """Tell whether a part is inside what has this name, directly or inside something else there."""
    holders = {str(row["name"]): row["inside"] for row in rows}
    holder, seen = part["inside"], set[str]()
    while holder is not None and holder not in seen:
        if holder == name:
            return True
        seen.add(holder)
        holder = holders.get(holder)
    return False


def _weight(row: Row) -> float:
    """Weigh a row by its gain; a library's own name counts for a little less than the user's."""
    of_library = is_library(str(row["name"]), str(row["category"]))
    return float(row["gain_ns"]) * (_LIBRARY if of_library else 1.0)


def what_to_change(findings: Findings) -> Sequence[Row]:
    """List what to change in the whole run, the best first: rows of `fixes`, else that of `named_part`.

    The name of a fix is its title.
    """
    fixes = [{**row, "name": row["title"]} for row in findings.details.fixes]
    part = None if fixes else named_part(findings)
    return [part] if part else fixes


def said_first(findings: Findings, row: Row) -> str:
    """Write the sentence about a row of `what_to_change`."""
    if "fix" in row:
        return f"{row['title']}: {row['evidence']}. That would gain {said_gain(findings, row)}."
    where = "the whole run" if findings.part else "the run"
    faster = f"{format_times(row['speedup'])} times as fast" if row["speedup"] else "done"
    missing = f"{NOTHING} " if findings.bounds else ""
    gain = f"{_gain(findings, row)}{_worth(findings, row)}"
    return f"{missing}Without {quoted(str(row['name']))} {where} would be {faster}: it gains {gain}."


def said_gain(findings: Findings, row: Row) -> str:
    """Say in a few words what a fix gains, with the range."""
    where = "the whole run " if findings.part else ""
    faster = f", {where}{format_times(row['speedup'])} times as fast" if row["speedup"] else ""
    return f"{_gain(findings, row)}{faster}{_worth(findings, row)}"


def said_together(fixes: Sequence[Row]) -> str:
    """Say that gains need not add up, and what the first two fixes gain together if that was replayed."""
    if len(fixes) < 2:
        return ""
    together_ns = fixes[1].get("with_first_ns")
    pair = "" if together_ns is None else f": the first two gain {short_ns(together_ns)} together"
    return f"Gains need not add up{pair}; `tracegraph plan` tries more."


def _gain(findings: Findings, row: Row) -> str:
    likely = f"{short_ns(row['low_ns'])} to {short_ns(row['high_ns'])}"
    likely += ", without what recording cost" if is_corrected(findings, row["base_ns"]) else ""
    return f"{short_ns(row['gain_ns'])} of {short_ns(row['base_ns'])} ({likely})"


def is_corrected(findings: Findings, base_ns: int) -> bool:
    """Tell whether the length that a gain refers to is without the cost of recording."""
    return not findings.part and base_ns < (1 - _LITTLE) * findings.length_ns


def _worth(findings: Findings, row: Row) -> str:
    """Say what a gain is worth in GPU-hours, samples and tokens, if the user says how large the job is."""
    return "".join(f", {text}" for text in worth(findings, row).values())


def worth(findings: Findings, row: Row) -> dict[str, str]:
    """Convert the gain of a row of `what_to_change` into what the job costs and yields, as texts by key."""
    job, left = findings.job, row["base_ns"] - row["gain_ns"]
    said: dict[str, str] = {}
    if job.gpus:
        hours = job.gpus * DAY_H * row["gain_ns"] / row["base_ns"]
        said["gpu_hours_a_day"] = f"{hours:.3g} GPU-hours a day"
    steps = findings.steps["number"].nunique()
    for amount, word in job.of_a_step:
        if steps and left > 0:
            before, after = (amount * steps / (ns / 1e9) for ns in (row["base_ns"], left))
            said[f"{word}_a_second"] = f"{format_rate(before)} → {format_rate(after)} {word} a second"
    return said
