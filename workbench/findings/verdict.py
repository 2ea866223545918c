"""The answer of a report: what bounds a run, what to change first, and what is not known."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from tracegraph.base.units import short_ns
from tracegraph.vocabulary.gaps import WAITING_FOR_RANK
from tracegraph.vocabulary.integrity_codes import DOUBTFUL
from tracegraph.workbench.findings.bottleneck import Bottleneck
from tracegraph.workbench.findings.bound import Bound, bound_of, where_in_code
from tracegraph.workbench.findings.contradictions import Contradiction, contradiction
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.findings.first_fix import NOTHING, Row, said_first, what_to_change
from tracegraph.workbench.findings.mixed_ranks import ADVICE, mixed_share
from tracegraph.workbench.findings.topics import COMMUNICATION
from tracegraph.workbench.text.names import quoted
from tracegraph.workbench.text.text import format_share

_HOLDS = 0.25
"""The one longest event is mentioned if it alone holds this share of the path. Chosen by eye: a lower one
would name an event in more reports, a higher one miss a slow call that takes a quarter of the run."""
_MOST_GAINS = 3
"""How many gains a verdict lists."""
_UNCLEAR, _DOUBT, _HALF = 0.05, 0.3, 0.5
"""Shares, 0..1, of what is not known.

From `_UNCLEAR` of the path on, unclear time is mentioned. There is no verdict if at least `_DOUBT` of the
path is unrecorded or unexplained, and that is as much as what gains most or at least `_HALF` of the path.
From `_DOUBT` on, the inferred part of a gain is mentioned, too. `_UNCLEAR` is the share from which the
integrity section warns, too (`unrecorded_path`); at `_HALF` nothing that is known can be larger. `_DOUBT` was
chosen by eye: a lower one would give up more verdicts, a higher one would name a bottleneck where more of the
path may be anything.
"""
_SEEN = 0.005
"""A part of the path, 0..1, that is smaller is not named. Chosen by eye, a tenth of `_UNCLEAR`: smaller parts
only lengthen the sentence."""
_TOUCHES = 0.1
"""A fix that gains less than this share, 0..1, of what a free bottleneck would gain does not shorten it. A
tenth is what a gain differs by from one measurement to the next (`gains._UNKNOWN`)."""
_BESIDE = "No fix that is known here shortens what bounds the run. The best of the others: "
_NOT_SHOWN = "which of the two determines the length, which the file does not show"
OF_PATH = ("path_unrecorded", "path_mostly_unrecorded")
"""Findings about the input that the verdict leaves out: it says the same about the path itself."""
_MIXED = (
    "No verdict: work of several ranks is mixed in the file, as where a tool merged them, and nothing proves "
    "whose is whose.",
    f"Not known: what any rank does. {ADVICE}",
)


def outlier(findings: Findings) -> str:
    """Write the sentence on the one event that holds most of the path; empty if none stands out."""
    told = findings.answers.get("outliers")
    if told is None or told.empty:
        return ""
    path = findings.path.assign(spent=findings.durations)
    spent = path.groupby(["rank", "source_index"], observed=True)["spent"].sum()
    keys = pd.MultiIndex.from_frame(told[["rank", "source_index"]].astype("int64"))
    held = pd.Series(spent.reindex(keys).fillna(0).to_numpy(), told.index)
    most = int(held.to_numpy().argmax())
    share = findings.share(int(held.iloc[most]))
    if share < _HOLDS:
        return ""
    row = told.iloc[most]
    count, long = int(row["count"]), int(row["long_count"])
    who = "One" if long == 1 else f"The longest of {long} long ones"
    said = (
        f"{who} of {count:,} {quoted(str(row['name']))} takes {short_ns(row['duration_ns'])}, the others "
        f"{short_ns(row['median_ns'])} in the median: it alone holds {format_share(share)} of the path"
    )
    return f"{said}{_waited(findings, str(row['name']))}."


def _waited(findings: Findings, name: str) -> str:
    """Say whether communication waited for another rank, as far as the files show it."""
    about = findings.topics[COMMUNICATION]
    if about.empty or not about["name"].eq(name).any():
        return ""
    waited = findings.by_gap_ns.get(WAITING_FOR_RANK, 0)
    if waited:
        return f", without the {short_ns(waited)} of the path in which collectives waited for another rank"
    files = "one file" if findings.details.ranks == 1 else "these files"
    return f"; how much of that is waiting for another rank {files} cannot tell"


@dataclass(frozen=True)
class Verdict:
    """What bounds the run or step, in at most three sentences; `gains`: what to change, the best first.

    `bottlenecks`: each one if `bottleneck` is `several`, else that one; empty if nothing is known. `share`:
    for a run, the share of it that goes if the resource is free; for a part, the share of its path. `gains`
    are about the whole run. `where`: where in the code the bottleneck's time is, empty if that is not known.
    """

    bottleneck: Bottleneck
    share: float
    sentences: Sequence[str]
    gains: Sequence[Row]
    bottlenecks: Sequence[Bottleneck] = ()
    where: str = ""


def judge(findings: Findings) -> Verdict:
    """Judge the window of a report; the verdict says so if the input does not allow one."""
    if mixed_share(findings):
        return Verdict("unknown", 0.0, _MIXED, [])
    bound, untold = bound_of(findings), contradiction(findings)
    changes = [] if untold else what_to_change(findings)
    lost = _cannot_tell(findings, bound, changes)
    if untold or lost:
        bound = _untold(untold) if untold else _lost(findings)
    gains = [] if lost else changes[:_MOST_GAINS]
    sentences = [" ".join(filter(None, [bound.sentence, outlier(findings)]))]
    if gains:
        beside = _BESIDE if _is_beside(findings, bound, gains[0]) else ""
        sentences.append(f"{beside}{said_first(findings, gains[0])}")
    elif not (untold or lost) and findings.bounds:
        sentences.append(NOTHING)
    sentences.append(_unknown(findings, bound, gains, (_NOT_SHOWN,) if untold else ()))
    where = "" if untold or lost else where_in_code(findings)
    return Verdict(bound.bottleneck, bound.share, sentences, gains, bound.bottlenecks, where)


def _cannot_tell(findings: Findings, bound: Bound, changes: Sequence[Row]) -> bool:
    """Tell whether so much of the path is unrecorded or unexplained that the largest gain may be there."""
    most = max([bound.share, *(findings.share(row["gain_ns"]) for row in changes)])
    return findings.unrecorded_share + findings.unknown_share >= max(_DOUBT, min(most, _HALF))


def _is_beside(findings: Findings, bound: Bound, best: Row) -> bool:
    """Tell whether the best fix gains hardly anything of what is gained if the bottleneck is free."""
    whole = not findings.part and "fix" in best and bool(findings.bounds)
    return whole and best["gain_ns"] < _TOUCHES * bound.share * best["base_ns"]


def _lost(findings: Findings) -> Bound:
    """Say that much of the path has no record, or no cause."""
    named = [(share, f"is {name}, not in the file") for name, share in findings.unrecorded.items()]
    most, what = max([*named, (findings.unknown_share, "has no explanation")])
    said = "What bounds the run, and what to change first, cannot be told: "
    lost = findings.unrecorded_share + findings.unknown_share
    return Bound("unknown", [], lost, f"{said}{format_share(most)} of the path {what}.")


def _untold(untold: Contradiction) -> Bound:
    """Say that the CPU works on the path and a GPU works as long beside it."""
    said = (
        f"Whether the CPU or the GPU determines the length cannot be told: {format_share(untold.share)} of "
        f"the path is work of CPU threads, but a GPU works for {format_share(untold.busy)} of the window"
    )
    if untold.gain_ns is not None:
        name, gain = quoted(untold.name), short_ns(untold.gain_ns)
        said += f", and without {name}, the longest of that work, the run would be only {gain} shorter"
    return Bound("unknown", [], untold.share, f"{said}.")


def _unknown(findings: Findings, bound: Bound, gains: Sequence[Row], first: Sequence[str] = ()) -> str:
    parts = [*first, *_doubts(findings, bound, gains)]
    return (
        f"Not known: {'; '.join(parts[:3])}."
        if parts
        else "Not known: nothing, every part of the path is explained."
    )


def _unseen(findings: Findings) -> Iterator[str]:
    """Say of how much of the path the file holds no work or no reason, each moment in one part."""
    total = sum(findings.unseen.values())
    if total >= _UNCLEAR:
        parts = {name: share for name, share in findings.unseen.items() if share >= _SEEN}
        each = [f"{format_share(share)} {name}" for name, share in parts.items()]
        where = ", ".join(each if len(each) > 1 else parts)
        yield f"what runs in {format_share(total)} of the path ({where})"


def _doubts(findings: Findings, bound: Bound, gains: Sequence[Row]) -> Iterator[str]:
    yield from _unseen(findings)
    if gains and gains[0]["inferred_share"] >= _DOUBT:
        share = format_share(gains[0]["inferred_share"])
        yield (
            f"whether the inferred dependencies are right: {share} of that gain rests on them, and its "
            "range assumes that they are"
        )
    if "communication" in bound.bottlenecks and findings.details.ranks == 1:
        yield "how much of the communication is waiting for slower ranks, which one file cannot tell"
    codes = [row["code"] for row in findings.details.integrity if row["level"] in DOUBTFUL]
    odd = [code for code in codes if code not in OF_PATH]
    if odd:
        listed = ", ".join(dict.fromkeys(map(str, odd)))
        yield f"how far what is wrong with the input changes this answer ({listed})"
