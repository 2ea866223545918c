"""What is shown of a difference, independent of who renders it."""

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from tracegraph.queries.shapes.category_roles import of_role
from tracegraph.vocabulary.categories import GPU_WORK, Role
from tracegraph.vocabulary.step_names import STEP_PREFIX
from tracegraph.workbench.diff.scope import Scope
from tracegraph.workbench.diff.verdict import UNRELATED
from tracegraph.workbench.sections.blocks import Block, Column, Fact, Facts, Plot, Table, Words
from tracegraph.workbench.text.text import format_ns, plural

_ON_PATH, _INSIDE, _OF_NUMBER, _OF_TIME, _DRAWN = 6, 4, 4, 4, 15
"""How many rows are shown: names on the path, names inside, changes in number and in time, and bars."""
_TIMES = (
    Column("duration_a_ns", "A", "duration"),
    Column("duration_b_ns", "B", "duration"),
    Column("diff_ns", "difference", "duration"),
)
_COUNTS = (Column("count_a", "in A", "count"), Column("count_b", "in B", "count"))
_PATH = (Column("name", "name", "name"), Column("category", "category", roomy=True), *_TIMES)
_STATUS = Column("status", "on the path")
_EVENTS = (
    Column("name", "name", "name"),
    Column("device", "device", roomy=True),
    Column("change", "change"),
    *_COUNTS,
    *_TIMES,
)
_NUMBER, _TIME = ("added", "deleted", "more", "less"), ("slower", "faster")
_COLOURS = {"entered": "error", "grew": "warning", "shrank": "good", "left": "note"}
_CALLED = (*GPU_WORK, Role.OPERATOR, Role.CALL)


def sections_of(
    scope: Scope,
    verdict: Mapping[str, str],
    path: pd.DataFrame | None,
    inside: pd.DataFrame | None,
    events: pd.DataFrame,
) -> Sequence[tuple[str, Sequence[Block]]]:
    """Make titles and blocks: what is compared and the verdict, the paths, the events.

    Of different programs only the first: what left and what entered would be all that either has.
    """
    head = ("Difference", [Facts(facts_of(scope, verdict))])
    if UNRELATED in verdict:
        return [head]
    return [
        head,
        ("On the critical path", [] if path is None or inside is None else list(_paths(path, inside))),
        ("Operators, calls and kernels, on the path or not", list(_by_name(events))),
    ]


def facts_of(scope: Scope, verdict: Mapping[str, str]) -> Sequence[Fact]:
    """List what is compared, and what is said of the difference."""
    facts = [Fact(about, sentence, "warning") for about, sentence in verdict.items() if about == UNRELATED]
    for word, side, window in (("A", scope.a, scope.window_a), ("B", scope.b, scope.window_b)):
        length = "" if window is None else f": {format_ns(window.end_ns - window.start_ns)}"
        facts.append(Fact(word, f"{side.title}{length}"))
    facts += [Fact(about, sentence) for about, sentence in verdict.items() if about != UNRELATED]
    facts += [Fact("note", f"{note}.", "note") for note in scope.notes]
    return facts


def _paths(path: pd.DataFrame, inside: pd.DataFrame) -> Iterator[Block]:
    changed = path[path["status"] != "same"]
    if changed.empty:
        yield Words("The paths are made of the same names and gaps, with the same time in each.")
        return
    yield Plot(
        "What changed most on the critical path",
        changed.head(_DRAWN),
        "bars",
        Column("name", "name", "name"),
        Column("diff_ns", "difference", "duration"),
        colour="status",
        colours=_COLOURS,
        told=(*_TIMES, *_COUNTS),
        across=True,
    )
    counts = changed["status"].value_counts()
    told = ", ".join(f"{counts[status]:,} {status}" for status in _COLOURS if status in counts)
    note = "All names together are exactly the difference of the lengths."
    columns = (*_PATH, *_COUNTS, _STATUS)
    yield Table(changed.head(_ON_PATH), columns, f"{told}; the largest differences:", note=note)
    around = ~of_role(inside["category"], *GPU_WORK, Role.CALL) & inside["name"].ne(STEP_PREFIX)
    changed = inside[around & inside["status"].ne("same")]
    if not changed.empty:
        caption = "Inside each name, or launched from inside it; a stretch counts for all that are around it:"
        yield Table(changed.head(_INSIDE), (*_PATH, _STATUS), caption)


def _by_name(events: pd.DataFrame) -> Iterator[Block]:
    rows = events[of_role(events["category"], *_CALLED)]
    if rows["change"].eq("same").all():
        yield Words("As many of each name, and as long.")
        return
    for ways, most, what in ((_NUMBER, _OF_NUMBER, "in number"), (_TIME, _OF_TIME, "in time only")):
        found = rows[rows["change"].isin(ways)]
        if not found.empty:
            counts = found["change"].value_counts()
            told = ", ".join(f"{counts[way]:,} {way}" for way in ways if way in counts)
            yield Table(found.head(most), _EVENTS, f"Changed {what}, {plural(len(found), 'name')}: {told}")
    if rows["matched"].any():
        yield Words(
            "Names that differ in template arguments, addresses or vendor only and that A and B do not share "
            f"are taken for one: {plural(int(rows['matched'].sum()), 'row')}."
        )
