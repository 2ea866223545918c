"""What bounds a run: the resource that gains most if it is free; for a part, what its path is made of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, cast

from tracegraph.base.units import short_ns
from tracegraph.vocabulary import bounds
from tracegraph.vocabulary.python_frames import frame_parts
from tracegraph.workbench.findings.bottleneck import Bottleneck, shares
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.findings.first_fix import is_corrected
from tracegraph.workbench.text.names import quoted
from tracegraph.workbench.text.text import format_share

_NEARLY_ALL = 0.98
"""From this share on the sentence says that nearly all of the run would go, rather than what is left. What is
left is then less than the 2 % from which `resource_bounds` names a resource."""
_FREE: Mapping[str, tuple[str, str]] = {
    bounds.HOST: ("The host bounds the run", "if its threads worked in no time"),
    bounds.GPU: ("Computing on the GPU bounds the run", "if kernels took no time"),
    bounds.TRANSFERS: ("Transfers bound the run", "if collectives and copies took no time"),
    bounds.LOADING: ("Data loading bounds the run", "if every batch came at once"),
    bounds.WAITS: ("The host's waits for the GPU bound the run", "if the host never waited for it"),
    bounds.LAUNCHING: ("Launching GPU work bounds the run", "if launches took no time"),
    bounds.THREADS: (
        "Waits of threads for each other bound the run",
        "if none waited for the GIL or another thread",
    ),
    bounds.RANKS: ("Waiting for the slowest rank bounds the run", "if no rank were late"),
    bounds.TURNS: (
        "Others that use the same GPU or CPU bound the run",
        "if they took no turns",
    ),
    bounds.UNRECORDED: (
        "Time in which the host records nothing bounds the run",
        "without it",
    ),
}
"""What the verdict says if a resource bounds the run, and under what condition it would not."""
_PATH: Mapping[Bottleneck, tuple[str, str]] = {
    "cpu": ("The CPU", "is work of its threads"),
    "gpu": ("The GPU", "is kernels, copies and the queue before them"),
    "communication": ("Communication", "is in collectives and their calls"),
    "data_loading": ("Data loading", "is inside the DataLoader"),
    "synchronisation": ("Waiting for the GPU", "is in calls that synchronise"),
    "launch": ("Launching GPU work", "is launching calls and their latency"),
    "gil": ("Waiting for the GIL or for another thread", "is that"),
    "other_rank": ("Another rank", "is waiting for it"),
    "turns": ("Whoever uses the same GPU or CPU", "is turns of theirs"),
    "unrecorded": ("Time in which the host records nothing", "is that"),
    "unknown": ("Something that the file does not hold", "has no record or no explanation"),
}
"""Who determines the length of a part, and what its share of the path is."""
_TIME: Mapping[str, str] = {
    bounds.HOST: "the threads' work on the path",
    bounds.GPU: "the computing on the path",
    bounds.TRANSFERS: "the transfers on the path",
    bounds.LOADING: "the loading on the path",
    bounds.WAITS: "the waits for the GPU",
    bounds.LAUNCHING: "the launching on the path",
    bounds.THREADS: "these waits",
    bounds.RANKS: "the waits for other ranks",
    bounds.TURNS: "these turns",
    bounds.UNRECORDED: "this time",
}
"""What is said of a bottleneck's time where its place in the code is known."""
OTHERS_TURNS = "others' turns on the GPU or CPU"
"""What `bounds.TURNS` are called for people."""
_PLACED = 0.2
"""A place in the code is named from this share of a bottleneck's time on, 0..1. Chosen by eye: a fifth is
worth a look; with a smaller share most of the time is elsewhere, and a line for it would mislead."""


@dataclass(frozen=True)
class Bound:
    """What bounds a window, and the sentence that says so.

    `bottlenecks`: each one if `bottleneck` is `several`, else that one; empty if nothing is known. `share`:
    for a run, the share of it that goes if the resource is free (for `several` the largest); for a part, the
    share of its path.
    """

    bottleneck: Bottleneck
    bottlenecks: Sequence[Bottleneck]
    share: float
    sentence: str


def bound_of(findings: Findings) -> Bound:
    """Find what bounds the window of a report: a run by its replays, a part by its path.

    The path also decides if no replay is stored or none is 2 % shorter: then several chains are equally long.
    """
    return _by_replay(findings) if findings.bounds.get("resources") else _by_path(findings)


def _by_replay(findings: Findings) -> Bound:
    found = findings.bounds
    named = list(found["bottlenecks"])
    rows = {row["resource"]: row for row in found["resources"]}
    words = [cast(Bottleneck, bounds.BOTTLENECKS[name]) for name in named]
    if not named:
        alone = (
            "other work is as late, so that whatever takes no time alone, the run is less than 2 % shorter."
        )
        path = _by_path(findings)
        return replace(path, share=0.0, sentence=f"{path.sentence.removesuffix('.')}; {alone}")
    share = float(rows[named[0]]["share"])
    if len(named) > 1:
        return Bound("several", words, share, _several(findings, [rows[name] for name in named]))
    who, free = _FREE[named[0]]
    row, base = rows[named[0]], _base(findings)
    if share >= _NEARLY_ALL:
        return Bound(words[0], words, share, f"{who}: nearly all of its {base} would go {free}.")
    left = f"{free}, {short_ns(row['length_ns'])} of {base} would be left"
    return Bound(words[0], words, share, f"{who}: {left}.")


def _base(findings: Findings) -> str:
    base_ns = int(findings.bounds["base_ns"])
    without = " (without what recording cost)" if is_corrected(findings, base_ns) else ""
    return f"{short_ns(base_ns)}{without}"


def _several(findings: Findings, rows: Sequence[Mapping[str, Any]]) -> str:
    """Say that several resources gain about as much."""
    said = [OTHERS_TURNS if row["resource"] == bounds.TURNS else row["resource"] for row in rows]
    names = _listed(said, "or")
    left = _listed([short_ns(row["length_ns"]) for row in rows], "or")
    return (
        f"No one thing bounds the run: without {names}, each alone, {left} of "
        f"{_base(findings)} would be left."
    )


def where_in_code(findings: Findings) -> str:
    """Say where in the code most of the time of each bottleneck is; empty where that is not recorded."""
    told = [row for row in findings.bounds.get("places", []) if row["share"] >= _PLACED]
    parts = [
        f"{format_share(row['share'])} of {_TIME[row['resource']]} in {_place(row['place'])}" for row in told
    ]
    return f"In the code: {'; '.join(parts)}." if parts else ""


def _place(name: str) -> str:
    """Quote a place; of a function's file the name is said without its folders, which may be many."""
    frame = frame_parts(name)
    return quoted(name if frame is None else f"{PurePath(frame[0]).name}({frame[1]}): {frame[2]}")


def _listed(words: Sequence[str], last: str) -> str:
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def _by_path(findings: Findings) -> Bound:
    bottleneck, share = next(iter(shares(findings).items()))
    who, what = _PATH[bottleneck]
    sentence = f"{who} determines the length: {format_share(share)} of the path {what}."
    return Bound(bottleneck, [bottleneck], share, sentence)
