"""Explains in a few sentences by the critical path that B is longer or shorter than A."""

import pandas as pd

from tracegraph.queries.shapes.category_roles import of_role
from tracegraph.vocabulary.categories import GAP, GPU_WORK, Role
from tracegraph.workbench.diff.kinship import Kinship, kinship
from tracegraph.workbench.diff.scope import Scope
from tracegraph.workbench.diff.steps import Steps, words_of
from tracegraph.workbench.text.names import readable
from tracegraph.workbench.text.text import format_ns, format_share, label, plural

UNRELATED = "different programs"
"""The topic of the only sentence about programs that share hardly a name."""

_NAMED, _NAME_CELLS = 3, 60
"""How many names a sentence lists, and how many cells each may take."""
_ALIKE, _SMALL, _LEAST = 0.001, 0.1, 0.02
"""Shares, 0..1, below which a difference is not worth mentioning.

`_ALIKE`: a difference of the lengths is next to nothing. `_SMALL`: an operator or name is left out, by its
part of the difference or of all that grew. `_LEAST`: a name is not among those that changed most. `_ALIKE` is
the smallest share which `format_share` shows as a number. The others were chosen by eye: lower ones fill the
sentence with names of little weight, higher ones leave out what made a run slower.
"""
_EXPOSED, _RENAMED, _SAME = 0.5, 0.5, 0.05
"""Shares, 0..1, that decide what kind of change it is.

`_EXPOSED`: less of the growth is more work, so that the rest was merely covered before. `_RENAMED`: more of
all changes are names that only one side has. `_SAME`: two operators change by the same, up to this part.
Halves are majorities. `_SAME` was chosen by eye: a larger one would join operators that have changed apart.
"""
_VERBS = {"entered": "is new on it", "left": "is no more on it", "grew": "grew", "shrank": "shrank"}


def judge(
    scope: Scope,
    path: pd.DataFrame | None,
    inside: pd.DataFrame | None,
    events: pd.DataFrame,
    steps: Steps | None,
) -> dict[str, str]:
    """Write the verdict as sentences by topic; of programs that share hardly a name, only that they do not.

    Without paths it is about steps only, if there are some.
    """
    shared = kinship(events)
    if not shared.is_related:
        return {UNRELATED: _unrelated(shared)}
    of_steps = {} if steps is None else words_of(steps)
    if scope.lengths_ns is None or path is None or inside is None:
        return of_steps
    length_a, length_b = scope.lengths_ns
    diff = length_b - length_a
    if not diff and path["diff_ns"].eq(0).all():
        alike = "The critical paths are made of the same."
        return {"difference": _lengths(length_a, length_b), **of_steps, "path": alike}
    said = {
        "difference": _lengths(length_a, length_b),
        **of_steps,
        "path": _kinds(path),
        "mostly": _names(path, diff),
        "operators": _operators(inside, diff),
        "exposed": _exposed(path, events),
    }
    return {about: sentence for about, sentence in said.items() if sentence}


def _unrelated(shared: Kinship) -> str:
    have = f"{shared.shared:,}" if shared.shared else "none"
    if shared.shared and shared.shared_time is not None:
        have += f", under which at most {format_share(shared.shared_time)} of the time of one of them is"
    return (
        f"A and B look like different programs: A has {plural(shared.of_a, 'name')} of operators and kernels "
        f"and B {shared.of_b:,}, and they share {have}. Their lengths stand side by side below, and nothing "
        "is said of what made the difference; compare recordings of one program."
    )


def _lengths(length_a: int, length_b: int) -> str:
    lengths = f"{format_ns(length_b)} instead of {format_ns(length_a)}"
    diff = length_b - length_a
    if not diff:
        return f"B is as long as A: {format_ns(length_a)}."
    share = abs(diff) / max(1, length_a)
    how = f"{format_ns(abs(diff))} ({format_share(share)}) {'longer' if diff > 0 else 'shorter'} than A"
    return f"B is {how}: {lengths}{', which is next to nothing' if share < _ALIKE else ''}."


def _kinds(path: pd.DataFrame) -> str:
    """Split the difference by who works; the parts add up to it."""
    gap, on_gpu = path["category"].eq(GAP), of_role(path["category"], *GPU_WORK)
    parts = {"work of the GPU": on_gpu, "work of threads": ~on_gpu & ~gap, "waits and gaps": gap}
    sums = {name: int(path.loc[rows, "diff_ns"].sum()) for name, rows in parts.items()}
    told = ", ".join(
        f"{name} {signed(ns)}" for name, ns in sorted(sums.items(), key=lambda one: -abs(one[1])) if ns
    )
    return f"On the critical path: {told}." if told else "On the critical path work only changed places."


def _names(path: pd.DataFrame, diff: int) -> str:
    """Name what changed most in the direction of the difference, and its share of all such changes."""
    work, sizes = path["category"].ne(GAP), path["diff_ns"].abs()
    left, entered = (int(sizes[work & path["status"].eq(way)].sum()) for way in ("left", "entered"))
    if 2 * min(left, entered) > _RENAMED * sizes.sum():
        only_a, only_b = format_ns(left), format_ns(entered)
        return f"Much has other names: {only_a} is under names of A only, {only_b} under names of B only."
    towards = path[path["diff_ns"] < 0] if diff < 0 else path[path["diff_ns"] > 0]
    whole, shares = int(towards["diff_ns"].sum()), towards["diff_ns"] / towards["diff_ns"].sum()
    top = towards[(shares >= _LEAST) | (shares == shares.max())].head(_NAMED)
    told = [
        f"{name} {_VERBS[status]} ({signed(ns)})"
        for name, status, ns in zip(_shown(top), top["status"], top["diff_ns"], strict=True)
    ]
    share = int(top["diff_ns"].sum()) / whole
    what = "shrank" if diff < 0 else "grew"
    rest = int(path["diff_ns"].sum()) - whole
    against = f", against {signed(rest)} elsewhere" if rest else ""
    return (
        f"Most of it: {', '.join(told)}; {format_share(share)} of all that {what}, {signed(whole)}{against}."
    )


def _operators(inside: pd.DataFrame, diff: int) -> str:
    """Name the operators inside which the path changed most, with what they launched."""
    plain = of_role(inside["category"], Role.OPERATOR) & inside["diff_ns"].ne(0)
    rows = inside[plain & (inside["diff_ns"].abs() >= _SMALL * abs(diff))]
    apart: list[int] = []
    for place, ns in enumerate(rows["diff_ns"]):
        # An operator that only calls another one changes by the same time.
        before = (rows["diff_ns"].iloc[one] for one in apart)
        if len(apart) < _NAMED and not any(abs(ns - one) <= _SAME * abs(one) for one in before):
            apart.append(place)
    rows = rows.iloc[apart]
    told = [f"{name} {signed(ns)}" for name, ns in zip(_shown(rows), rows["diff_ns"], strict=True)]
    return f"With all that runs inside or was launched there: {', '.join(told)}." if told else ""


def _exposed(path: pd.DataFrame, events: pd.DataFrame) -> str:
    """Name what takes more of the path without working more: nothing covers it any more."""
    own = (path["accumulated_b_ns"] - path["accumulated_a_ns"]).astype("float64")
    # For what is new on the path, only the work of a GPU is known: its events hold no others.
    on_gpu = events[of_role(events["category"], *GPU_WORK)].set_index("name")["diff_ns"]
    own = own.where(own.notna(), path["name"].map(on_gpu).where(of_role(path["category"], *GPU_WORK)))
    grew = path[(path["diff_ns"] > 0) & (own < _EXPOSED * path["diff_ns"])]
    grew = grew[grew["diff_ns"] >= _SMALL * path.loc[path["diff_ns"] > 0, "diff_ns"].sum()].head(_NAMED)
    told = ", ".join(_shown(grew))
    return (
        f"Hardly more work, but more of it on the path, as nothing covers it any more: {told}."
        if told
        else ""
    )


def _shown(rows: pd.DataFrame) -> list[str]:
    shown = readable(rows["name"])
    return [label(shown[name], _NAME_CELLS) for name in rows["name"]]


def signed(ns: int) -> str:
    """Format a difference of times with its sign."""
    return f"+{format_ns(ns)}" if ns > 0 else format_ns(ns)
