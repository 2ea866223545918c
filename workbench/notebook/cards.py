"""Cards of a report, a prediction, a plan and the list of runs: HTML that a notebook shows as it is."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from tracegraph.base.errors import TracegraphError
from tracegraph.base.units import short_ns
from tracegraph.workbench.findings.findings import Findings
from tracegraph.workbench.findings.first_fix import NOTHING
from tracegraph.workbench.notebook.card import Lengths, OneLength, Shown, card
from tracegraph.workbench.sections import made_of, recommendations, run, verdict
from tracegraph.workbench.sections.blocks import Advice, Block, Column, Facts, Table, Words
from tracegraph.workbench.text.text import format_ns, plural
from tracegraph.workbench.text.values import to_the_minute
from tracegraph.workbench.what_if import answer_words, plan_words

if TYPE_CHECKING:
    from tracegraph.workbench.what_if.answer import WhatIf
    from tracegraph.workbench.what_if.plan import Plan

_MOST_ADVICE = 5
"""How many pieces of advice a card shows."""
_MOST_RUNS = 20
"""How many runs a card lists."""
_RUNS = (
    Column("name", "run"),
    Column("_created", "created (UTC)"),
    Column("ranks", "ranks", "count"),
    Column("duration_ns", "length", "duration"),
    Column("bounded_by", "bounded by"),
    Column("scenario_of", "scenario of"),
    Column("_state", ""),
)
_MATCHED = (
    Column("name", "matched", "name"),
    Column("count", "count", "count"),
    Column("own_ns", "own time", "duration"),
)
_TOGETHER = (Column("fixes", plan_words.TOGETHER, "prose"), Column("gain_ns", "gain", "duration"))


def report_card(findings: Findings) -> str:
    """Make the card of a report, or of a run: the verdict, what the path is made of, what to try."""
    sections = (run, verdict, made_of, recommendations)
    about, judged, parts, advised = (section.SECTION.content(findings) for section in sections)
    shown = [block.first(_MOST_ADVICE) if isinstance(block, Advice) else block for block in advised]
    blocks = [*about, *map(_answer_first, judged), *parts, *shown]
    return card(f"{findings.title}: {short_ns(findings.length_ns)}", blocks)


def _answer_first(block: Block) -> Block:
    """Move the line about the input, which a report begins with, behind the verdict."""
    return Facts([*block.facts[1:], block.facts[0]]) if isinstance(block, Facts) else block


def what_if_card(found: "WhatIf") -> str:
    """Make the card of a prediction: before, after, the range, what is critical then, what is not known."""
    predicted = found.prediction
    after, base = predicted.corrected, predicted.corrected.base_ns
    possible = (base - predicted.high.gain_ns, base - predicted.low.gain_ns)
    lengths = (
        OneLength("before", base, format_ns(base)),
        OneLength("after", after.predicted_ns, format_ns(after.predicted_ns), possible=possible),
    )
    facts, then = list(answer_words.answer_facts(found)), answer_words.critical_then(found)
    blocks: list[Shown] = [Lengths("", lengths, base), Facts([*facts, *([then] if then else [])])]
    blocks += [Words(note) for note in found.notes]
    rows = pd.DataFrame([vars(one) for one in found.matched], columns=[one.field for one in _MATCHED])
    blocks += _cut(rows, _MATCHED, answer_words.MOST_NAMES, "name")
    return card(answer_words.headline(found), blocks)


def plan_card(found: "Plan") -> str:
    """Make the card of a plan: what is left of the run after one fix, two and so on, and what each gains."""
    lengths = [
        OneLength(
            plan_words.step_words(found, count),
            one.length_ns,
            f"gain {format_ns(one.gain_ns)}",
            told=plan_words.fixes_words(one),
            command=one.command,
        )
        for count, one in enumerate(found.steps, 1)
    ]
    blocks: list[Shown] = [
        Lengths("what is left of the run", lengths, found.base_ns) if lengths else Words(NOTHING)
    ]
    if found.together:
        rows = [(plan_words.fixes_words(one), one.gain_ns) for one in found.together]
        blocks.append(Table(pd.DataFrame(rows, columns=[one.field for one in _TOGETHER]), _TOGETHER))
    floor = plan_words.floor_words(found)
    return card(plan_words.headline(found), [*blocks, *([Words(floor, "note")] if floor else [])])


def runs_card(runs: pd.DataFrame) -> str:
    """Make the card of rows of the query `runs`: the columns that people read."""
    if runs.empty:
        return card("Stored runs", [Words("no run is stored")])
    rows = runs.assign(
        _created=to_the_minute(runs["created"]),
        _state=runs["state"].where(runs["state"] != "ready"),
    )
    filled = [one for one in _RUNS if rows[one.field].notna().any()]
    return card("Stored runs", _cut(rows, filled, _MOST_RUNS, "run"))


def error_card(name: str, error: TracegraphError) -> str:
    """Make the card of a run that cannot be asked: what is wrong, and what to do."""
    return card(name, [Words(error.message, "error"), *([Words(error.hint)] if error.hint else [])])


def _cut(rows: pd.DataFrame, columns: Sequence[Column], most: int, noun: str) -> list[Table]:
    """Make a table of the first rows that says how many there are beside them; none without rows."""
    if rows.empty:
        return []
    left = len(rows) - most
    return [Table(rows.head(most), columns, note=f"and {plural(left, f'more {noun}')}" if left > 0 else "")]
