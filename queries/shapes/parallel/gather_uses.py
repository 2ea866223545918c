"""What first needs each gather, where annotations of FSDP tell it."""

from bisect import bisect_left, bisect_right
from operator import itemgetter
from typing import Any

from tracegraph.vocabulary.collectives import FSDP_TAKES_OVER, gathered_module

_END = itemgetter("end_ns")
Row = dict[str, Any]


def module_of(around: list[str]) -> str | None:
    """Return the module that the innermost annotation of a gather names; empty for the root."""
    told = (gathered_module(name) for name in reversed(around))
    return next((module for module in told if module is not None), None)


def add_uses(rows: list[Row], marks: list[Row]) -> None:
    """Add what first needs each gather where annotations of FSDP name it; dependencies tell the others."""
    of_module: dict[str | None, list[Row]] = {}
    for mark in sorted(marks, key=_END):
        of_module.setdefault(module_of([mark["name"]]), []).append(mark)
    for row in rows:
        module, launched = row["module"], row["launched_ns"]
        if module is None or launched is None:
            continue
        listed = of_module.get(module, [])
        since = bisect_right(listed, launched, key=_END)
        own = (listed[place] for place in range(since, len(listed)))
        takes = next((mark for mark in own if mark["name"].startswith(FSDP_TAKES_OVER)), None)
        if takes is None:
            continue
        row["evidence"] = "recorded"
        row["use_launched_ns"], row["use_ns"], row["ready_ns"] = (
            takes["start_ns"],
            takes["use_ns"],
            takes["ready_ns"],
        )
        if takes["use_ns"] is None:  # on threads the thread itself waits, here or where it gathers
            last = row["ends_ns"]
            after = [at for at in takes["operator_ns"] if at >= last]
            row["use_ns"] = min(after, default=max(takes["end_ns"], last))
            row["ready_ns"] = max(launched, _waits_since(listed, max(last, launched + 1), takes["start_ns"]))


def _waits_since(marks: list[Row], last_ns: int, otherwise_ns: int) -> int:
    """Find since when an annotation of a module, all of them by their ends, waits at a time; ns."""
    place = bisect_left(marks, last_ns, key=_END)
    waits = place < len(marks) and marks[place]["start_ns"] <= last_ns
    return int(marks[place]["start_ns"]) if waits else otherwise_ns
