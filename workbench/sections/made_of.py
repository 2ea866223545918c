"""What the critical path is made of, in one bar, and what each resource is worth."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import cast

from tracegraph.vocabulary.bounds import BOTTLENECKS
from tracegraph.vocabulary.categories import Role, find_category
from tracegraph.workbench.findings.bottleneck import Bottleneck, shares
from tracegraph.workbench.findings.bound import OTHERS_TURNS
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.findings.first_fix import is_corrected
from tracegraph.workbench.findings.verdict import judge
from tracegraph.workbench.sections.blocks import Block, Part, Stack
from tracegraph.workbench.sections.section import ANSWER, Section

_PARTS: Mapping[Bottleneck, tuple[str, str]] = {
    "gpu": ("GPU work", "#3b6fd4"),
    "communication": ("communication", "#c8553d"),
    "cpu": ("host work", "#8a6bb8"),
    "data_loading": ("data loading", "#b97d12"),
    "synchronisation": ("the host waits for the GPU", "#5f7f9d"),
    "launch": ("launching", "#2f8f86"),
    "gil": ("waits for other threads and the GIL", "#a2578f"),
    "other_rank": ("waits for other ranks", "#9c4a33"),
    "turns": (OTHERS_TURNS, "#6f7a45"),
    "unrecorded": ("the host records nothing", "#78818d"),
    "unknown": ("unknown", "#99a1ac"),
}
"""What each part of the path is called, and its colour, on which white text can be read."""
_LEAST = 0.001
"""Parts below this share of the path, 0..1, are not worth a word. That is the smallest share which
`format_share` shows as a number."""
_NO_GAIN = (
    "A share is no gain: without a part, other work takes its place, or what waited for it begins earlier."
)
_CORRECTED = " Shares are as recorded; how fast it would be is without what recording cost."
_WORTH, _LISTED = 0.01, 4
"""A resource is named with its worth from this share of the run on; at most so many are. 1 % is the least
that a fix gains (`LEAST_GAIN`); four were chosen by eye."""
_LEFT = 0.05
"""Where less than this share of the run is left without a resource, 0..1, a factor would say nothing. It
would be more than 20; that this is the limit was chosen by eye."""
_LONE = 0.9
"""From this share of the path on, 0..1, host work is told by the kinds of its events. Chosen by eye: with
less, other resources have parts of their own to show."""


def made_of(findings: Findings) -> Stack | None:
    """Share out the path among the resources that can bound it; None if there is nothing to share out."""
    found, worth = shares(findings), _worth(findings)
    if found.get("cpu", 0.0) >= _LONE:
        parts = [*_kinds(findings), *(_part(name, 0.0, 0, worth) for name in worth)]
    else:
        parts = [
            _part(name, share, findings.length_ns, worth)
            for name, share in found.items()
            if share >= _LEAST or name in worth
        ]
    if not any(part.length_ns for part in parts):
        return None
    parts.sort(key=lambda part: (-part.length_ns, -(part.faster or 0)))
    return Stack(parts, findings.length_ns, _said(findings) if worth else "")


def _part(name: Bottleneck, share: float, whole_ns: int, worth: Mapping[Bottleneck, float]) -> Part:
    word, colour = _PARTS[name]
    return Part(word, round(share * whole_ns) if share >= _LEAST else 0, colour, worth.get(name))


def _kinds(findings: Findings) -> list[Part]:
    """Share out the path among the kinds of events and the gaps, where host work has nearly all of it."""
    spent: Counter[str] = Counter()
    for category, time_ns in findings.by_category_ns.items():
        spent[find_category(category).role.value] += time_ns
    spent.update(findings.by_gap_ns)
    del spent[Role.GAP.value]
    colours = cycle(colour for _, colour in _PARTS.values())
    return [
        Part(kind, time_ns, next(colours))
        for kind, time_ns in spent.most_common()
        if findings.share(time_ns) >= _LEAST
    ]


def _content(findings: Findings) -> Sequence[Block]:
    stack = made_of(findings)
    return [] if stack is None else [stack]


def _worth(findings: Findings) -> Mapping[Bottleneck, float]:
    """How many times as fast the run is without each resource; empty if that is not stored or not known."""
    if judge(findings).bottleneck == "unknown":
        return {}
    base_ns, rows = findings.bounds.get("base_ns", 0), findings.bounds.get("resources", [])
    return {
        cast(Bottleneck, BOTTLENECKS[row["resource"]]): base_ns / row["length_ns"]
        for row in rows[:_LISTED]
        if row["share"] >= _WORTH and row["length_ns"] >= base_ns * _LEFT
    }


def _said(findings: Findings) -> str:
    """Say what the table of parts with their worth does not say."""
    return f"{_NO_GAIN}{_CORRECTED if is_corrected(findings, findings.bounds['base_ns']) else ''}"


SECTION = Section(5, "What the critical path is made of", _content, group=ANSWER)
