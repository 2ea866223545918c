"""What could be gained: the largest names and waits of the path, each taken away and halved."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints
from tracegraph.ingest.causal.graph.model import Model
from tracegraph.ingest.causal.graph.path_rows import Stretches, find_stretches
from tracegraph.ingest.what_if.changes.change import Change
from tracegraph.ingest.what_if.graph.graph import ReplayGraph
from tracegraph.ingest.what_if.graph.subtrees import Spots, find_spots
from tracegraph.ingest.what_if.predictions.predict import Predictor, predictor_of
from tracegraph.vocabulary.canonical_names import common_name
from tracegraph.vocabulary.categories import GAP, Role, has_role
from tracegraph.vocabulary.gaps import GAP_NAMES, NOT_IN_FILE, NOT_RUNNING, UNKNOWN, UNTRACED_CPU
from tracegraph.vocabulary.python_frames import MODULE, SCRIPT, is_library
from tracegraph.vocabulary.step_names import STEP_PREFIX

_NO_REASON = (UNKNOWN, UNTRACED_CPU, NOT_RUNNING, *NOT_IN_FILE)
# Names and waits that are listed at most, and kinds of frames that are looked at for names.
_ITEMS, _WAITS, _CANDIDATES = 6, 3, 40
# Shares (0..1) of the path: the least that is listed, and the one from which on a name stands for the whole
# program; and the share of time in common from which on two names are the same. Chosen by eye: 2 % is twice
# what a fix must gain, 95 % leaves out what only holds the program, and 90 % is what gains are known to
# (`gains._UNKNOWN`).
_LEAST, _WHOLE, _SAME = 0.02, 0.95, 0.9
Row = dict[str, object]


def find_potential(model: Model, predictor: Predictor | None = None) -> list[Row]:
    """Compute what is gained if each of the largest names and waits of the path takes no time, and half.

    Of names that hold the same time, the one that the user gave counts: an annotation, then a function of the
    user's, a module, an operator. Names that hold nearly all of the path are left out.

    Parameters
    ----------
    predictor
        The predictor of the model's graph, if there is one already.

    Returns
    -------
    rows
        The largest gain first: name, category (`gap` for a wait), selector (for `what-if`), path_ns (of the
        path inside it), inside (the listed name that holds it, or None), gain_ns, low_ns, high_ns, wide (why
        these are more than tenfold apart, empty if they are not), basis (what the gain is: "corrected" for
        what recording cost, or "naive", as recorded, if the file does not show that), base_ns, speedup,
        halved_ns, inferred_share (0..1), following (the hotspots then).
    """
    predictor = predictor or predictor_of(model)
    graph = predictor.graph
    if not graph.counted.any():
        return []
    rows, spots = find_stretches(model), find_spots(graph)
    chosen = (*_named(graph, rows, spots), *_waits(rows))
    del rows  # it is as large as the path
    found = [_row(predictor, one, spots) for one in chosen]
    return sorted(found, key=lambda row: -int(str(row["gain_ns"])))


@dataclass(frozen=True)
class _Candidate:
    """A name, or a wait, with the time of the path in it; `held`: the spots that a name holds.

    `inside`: the larger name that holds nearly all of it, if one is listed.
    """

    name: str
    category: str
    path_ns: int
    held: Flags | None = None
    inside: str | None = None


def _row(predictor: Predictor, one: _Candidate, spots: Spots) -> Row:
    if one.held is None:
        changes = [Change(np.ones(len(spots.of_segment)), (GAP_NAMES.index(one.name),))]
        selector = f"remove-wait={one.name}"
    else:
        changes = [Change(np.where(one.held, factor, 1.0)[spots.of_segment]) for factor in (0.0, 0.5)]
        selector = "under=" + one.name.replace(",", "\\,")
    removed = predictor.predict(changes[0])
    return {
        "name": one.name,
        "category": one.category,
        "selector": selector,
        "path_ns": one.path_ns,
        "inside": one.inside,
        "gain_ns": removed.corrected.gain_ns,
        "low_ns": removed.low.gain_ns,
        "high_ns": removed.high.gain_ns,
        "wide": removed.wide,
        "basis": removed.basis,
        "base_ns": removed.corrected.base_ns,
        "speedup": removed.corrected.speedup if removed.corrected.predicted_ns else None,
        "halved_ns": predictor.gain(changes[1]).gain_ns if len(changes) > 1 else None,
        "inferred_share": removed.inferred_share,
        "following": [dict(row) for row in removed.following],
    }


def _waits(rows: Stretches) -> Iterator[_Candidate]:
    """Yield the gaps with a reason that take most of the path."""
    is_gap = rows.event < 0
    spent = np.bincount(rows.gap_name[is_gap], rows.duration[is_gap], len(GAP_NAMES)).astype(np.int64)
    least = _LEAST * rows.duration.sum()
    named = [code for code in np.argsort(-spent) if GAP_NAMES[code] not in _NO_REASON]
    for code in named[:_WAITS]:
        if spent[code] >= least:
            yield _Candidate(GAP_NAMES[code], GAP, int(spent[code]))


def _named(graph: ReplayGraph, rows: Stretches, spots: Spots) -> Sequence[_Candidate]:
    """Choose the names that hold most of the path, none of which is much the same as another."""
    spent = np.bincount(spots.of_segment[rows.segment], rows.duration, len(spots.frame)).astype(np.int64)
    chosen: list[_Candidate] = []
    for one in sorted(_candidates(graph, spent, spots), key=_preference):
        if not any(_shared(spent, one, other) >= _SAME * max(one.path_ns, other.path_ns) for other in chosen):
            chosen.append(one)
    largest = sorted(chosen, key=lambda one: -one.path_ns)[:_ITEMS]
    return [replace(one, inside=_holder(spent, one, largest[:place])) for place, one in enumerate(largest)]


def _holder(spent: Ints, one: _Candidate, larger: Sequence[_Candidate]) -> str | None:
    """Find the smallest of the larger names that hold nearly all of one."""
    holding = [other.name for other in larger if _shared(spent, one, other) >= _SAME * one.path_ns]
    return holding[-1] if holding else None


def _shared(spent: Ints, one: _Candidate, other: _Candidate) -> int:
    return int(spent[one.held & other.held].sum()) if one.held is not None and other.held is not None else 0


def _candidates(graph: ReplayGraph, spent: Ints, spots: Spots) -> Iterator[_Candidate]:
    """Yield the names that hold much of the path.

    `spent`: the path's ns in each spot, with the lags before its segments.
    """
    frames, marker = graph.frames, graph.step_marker
    own = np.bincount(spots.frame, spent, len(frames)).astype(np.int64)
    handed = spots.handed
    given = np.bincount(handed.of_segment + 1, spent, len(handed) + 1)[1:]
    inclusive = own + np.bincount(spots.frame[handed.giver], given, len(frames)).astype(np.int64)
    for here in range(len(frames) - 1, -1, -1):
        if frames.parent[here] >= 0:
            inclusive[frames.parent[here]] += inclusive[here]
    kind = frames.name.codes.astype(np.int64) * len(frames.category.values) + frames.category.codes
    called = (frames.parent >= 0) & ~frames.category.among(GAP)
    total = int(own.sum())
    for one in _largest(kind, inclusive, called & (inclusive > 0)).tolist():
        name = str(frames.name.values[one // len(frames.category.values)])
        category = str(frames.category.values[one % len(frames.category.values)])
        # On the path or not, on all ranks, and of every category, as `under=NAME` removes it.
        mine = called & (frames.name.codes == one // len(frames.category.values))
        held = spots.held_by(frames, mine)
        path_ns, own_ns = int(spent[held].sum()), int(own[mine].sum())
        is_whole = name in (marker, STEP_PREFIX) or name.endswith(SCRIPT) or path_ns > _WHOLE * total
        # A call is named for its own time: operator and kernel name what it launches.
        launches = has_role(category, Role.CALL) and own_ns < path_ns / 2
        if path_ns >= _LEAST * total and not is_whole and not launches:
            yield _Candidate(name, category, path_ns, held)


def _largest(kind: Ints, inclusive: Ints, called: Flags) -> Ints:
    """Find the kinds of frames with the largest sums; a name that calls itself may count more than once."""
    distinct, place = np.unique(kind[called], return_inverse=True)
    sums = np.bincount(place, inclusive[called], len(distinct))
    kinds: Ints = distinct[np.argsort(-sums)[:_CANDIDATES]]
    return kinds


def _preference(one: _Candidate) -> tuple[int, int]:
    """Put names of the user's before those of libraries, then the larger ones first.

    An annotation with a name that only one process has, such as a graph's hash, is not the user's.
    """
    if has_role(one.category, Role.ANNOTATION) and common_name(one.name) == one.name:
        rank = 0
    elif has_role(one.category, Role.FRAME):
        rank = 2 if one.name.startswith(MODULE) else 4 if is_library(one.name, one.category) else 1
    else:
        rank = 3
    return rank, -one.path_ns
