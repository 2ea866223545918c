"""The ranks of a run in short: which one sets the pace, whom the others wait for, and why it is late."""

import shlex
from collections.abc import Iterator, Mapping, Sequence

from tracegraph.base.units import short_ns
from tracegraph.vocabulary.categories import GAP
from tracegraph.vocabulary.gaps import IN_SHORT
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.findings.stragglers import Cause, Ranks, Straggler, compare_ranks
from tracegraph.workbench.sections.blocks import Block, Fact, Facts, Words
from tracegraph.workbench.sections.section import TIME, Parameters, Scope, Section
from tracegraph.workbench.text.names import readable
from tracegraph.workbench.text.text import MOST_RANKS, format_share, label, plural, the_first

_SHARED, _MOST_STRAGGLERS, _MOST_NAMES, _NAME_CELLS = 0.2, 2, 2, 60
"""Limits of what is said about late ranks.

A second late rank is mentioned from `_SHARED` of all waiting on; at most `_MOST_STRAGGLERS` ranks are, with
`_MOST_NAMES` names for each cause and `_NAME_CELLS` cells for each name.
"""


def _content(findings: Findings) -> Sequence[Block]:
    if findings.details.ranks < 2:
        return []
    ranks = compare_ranks(findings)
    if ranks is None:
        return [Words("the files share no operation: when one rank waited for another is unknown", "warning")]
    steps = 1 if findings.part else findings.steps["number"].nunique()
    run = findings.details.name
    detail = [Facts([Fact("in full", _detail(ranks, run))])] if ranks.in_short else []
    return [*detail, Facts(list(_facts(ranks, steps, run)))]


def _facts(ranks: Ranks, steps: int, run: str) -> Iterator[Fact]:
    yield Fact("pace", f"{format_share(ranks.path_share)} of the critical path is on rank {ranks.path_rank}")
    listed = [one for place, one in enumerate(ranks.stragglers) if not place or one.share >= _SHARED][
        :_MOST_STRAGGLERS
    ]
    for one in listed:
        yield Fact("waited for", _waited(one))
        yield Fact("late by", _in_short(one, run) if one.in_short else _why(one, steps))
    if listed and ranks.steps > 1:
        yield Fact("steadiness", _steadiness(ranks, listed[0]))
    if not listed:
        yield Fact("waited for", "no rank waited for another one")
    exposed = (
        f"{format_share(ranks.waited_share)} of the time waiting for others, "
        f"{format_share(ranks.transfer_share)} transferring, with nothing else to compute (mean of the ranks"
        + (" in full)" if ranks.in_short else ")")
    )
    yield Fact("communication", exposed)


def _detail(ranks: Ranks, run: str) -> str:
    return (
        f"ranks {the_first(ranks.in_full, MOST_RANKS)}: what is said of work, GPUs, steps and code is of "
        f"these. Of the other {plural(ranks.in_short, 'rank')} only operations with others are here; the gap "
        f"{IN_SHORT!r} is all that they did between them: {_load(run, 'N')}"
    )


def _in_short(one: Straggler, run: str) -> str:
    return f"not known, since rank {one.rank} is in short: {_load(run, one.rank)}"


def _load(run: str, rank: object) -> str:
    return f"`tracegraph runs load {shlex.quote(run)} --rank {rank}` loads one"


def _waited(one: Straggler) -> str:
    return (
        f"rank {one.rank}: the others wait {short_ns(one.caused_ns)} for it together, "
        f"{format_share(one.share)} of all waiting, up to {short_ns(one.longest_ns)} at once; it came last "
        f"to {one.last:,} of {plural(one.operations, 'operation')}"
    )


def _why(one: Straggler, steps: int) -> str:
    if not one.on_path:
        return f"unknown: the critical path does not lead through rank {one.rank}, so others' work hides it"
    parts = [_cause(cause, steps) for cause in one.causes]
    where = "" if one.phase is None else f"; most of it in the phase {one.phase}"
    return "; ".join(parts) + where if parts else "nothing that it does more of than the other ranks"


def _cause(cause: Cause, steps: int) -> str:
    each = f" ({short_ns(cause.late_ns / steps)} a step)" if steps > 1 else ""
    names = [
        f"{short_ns(ns)} {name if category == GAP else f'`{_short(name)}`'}"
        for name, category, ns in cause.names[:_MOST_NAMES]
    ]
    if cause.inside is None:
        return f"{names[0]}{each}"
    more = f" and {plural(len(cause.names) - len(names), 'other')}" if len(cause.names) > len(names) else ""
    return f"{short_ns(cause.late_ns)} inside `{_short(cause.inside)}`{each}: {', '.join(names)}{more}"


def _short(name: str) -> str:
    return label(readable([name])[name], _NAME_CELLS)


def _steadiness(ranks: Ranks, first: Straggler) -> str:
    most = max(ranks.stragglers, key=lambda one: one.steps_led)
    if first.steps_led == ranks.steps:
        return f"always: rank {first.rank} in {ranks.steps:,} of {ranks.steps:,} steps"
    word = "mostly" if 2 * most.steps_led > ranks.steps else "wandering"
    led = [one for one in ranks.stragglers if one.steps_led][:4]
    return f"{word}: " + ", ".join(
        f"rank {one.rank} in {one.steps_led:,} of {ranks.steps:,} steps" for one in led
    )


def _asks(scope: Scope) -> Mapping[str, Parameters]:
    if scope.ranks < 2:
        return {}
    asked = {"rank_waits": scope.between, "late_causes": scope.walked}
    return asked if scope.part else {**asked, "step_waits": scope.whole, "phases": scope.whole}


SECTION = Section(3, "Ranks", _content, _asks, in_short=True, group=TIME)
