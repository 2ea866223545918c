"""Shortcuts through a graph against the plain ways: anchors of entries, and what needs no choice."""

from dataclasses import fields, replace
from random import Random

import numpy as np
import tiny
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_traces import graphs, lasts, rows

from tracegraph.base.errors import InputError
from tracegraph.ingest.causal.graph.anchors import Entries
from tracegraph.ingest.causal.graph.dependencies import (
    Candidates,
    Dependencies,
    _decide,
    _distinct,
    _possible,
    causal_order,
    choose,
)
from tracegraph.ingest.causal.graph.model import Model, solve
from tracegraph.ingest.causal.graph.order import order_of, replay_order
from tracegraph.ingest.causal.graph.other_assumptions import _differs, _summarise, find_alternatives
from tracegraph.ingest.causal.graph.runs import find_links
from tracegraph.ingest.causal.rules import POLICIES

_BEGUN = 100


@st.composite
def entries(draw: st.DrawFn) -> tuple[list[int], list[list[tuple[int, int]]], list[int]]:
    """Runs of entries in order; the edges of each, from an entry before it or from none; floors."""
    count = draw(st.integers(0, 12))
    run = draw(st.lists(st.integers(0, 3), min_size=count, max_size=count))
    edges = [
        draw(st.lists(st.tuples(st.integers(-1, entry - 1), st.integers(0, 9)), max_size=3))
        for entry in range(count)
    ]
    floors = draw(st.lists(st.integers(_BEGUN, _BEGUN + 20), min_size=count, max_size=count))
    return run, edges, floors


@settings(derandomize=True)
@given(entries())
def test_anchors_are_those_of_one_entry_after_the_other(
    drawn: tuple[list[int], list[list[tuple[int, int]]], list[int]],
) -> None:
    run, edges, floors = drawn
    anchors = dict.fromkeys(run, _BEGUN)
    raised = dict.fromkeys(run, -1)
    known, chosen, raised_by, number = [], [], [], 0
    for entry, mine in enumerate(run):
        anchor, by = max(anchors[mine], floors[entry]), -1
        for cause, later in edges[entry]:
            arrival = (known[cause] if cause >= 0 else _BEGUN) + later
            anchor, by = (arrival, number) if arrival > anchor else (anchor, by)
            number += 1
        raised[mine] = entry if anchor > max(anchors[mine], floors[entry]) else raised[mine]
        anchors[mine] = anchor
        known.append(anchor)
        chosen.append(by)
        raised_by.append(raised[mine])
    flat = np.array([edge for each in edges for edge in each], dtype=np.int64).reshape(-1, 2).T
    counts = np.array([len(each) for each in edges], dtype=np.int64)
    found = Entries(np.array(run, dtype=np.int64), counts, flat[0])
    reached = found.reach(flat[1], np.array(floors, dtype=np.int64), _BEGUN)
    assert reached.of_entry.tolist() == [*known, _BEGUN]
    by_edge, by_entry = found.raised(reached, _BEGUN)
    assert by_edge.tolist() == chosen
    assert by_entry.tolist() == raised_by


@settings(derandomize=True)
@given(graphs(), st.randoms(use_true_random=False), st.integers(0, 5))
def test_what_needs_no_choice_is_found_as_if_it_were_chosen(model: Model, random: Random, twice: int) -> None:
    found, segments = model.dependencies, model.segments
    order = [*range(len(found)), *range(min(twice, len(found)))]
    random.shuffle(order)
    candidates = Candidates(
        cause=found.cause[order],
        effect=found.effect[order],
        mechanism=found.mechanism[order],
        recorded=found.recorded[order],
        confidence=found.confidence[order],
        arrival=(segments.completion[found.cause] + found.lag)[order],
    )
    expected, margin = _decide(segments, _possible(segments, _distinct(candidates)))
    chosen, edge, margins = choose(segments, candidates)
    for field in fields(Dependencies):
        assert getattr(chosen, field.name).tolist() == getattr(expected, field.name).tolist()
    assert margins.tolist() == margin.tolist()
    bound = np.flatnonzero(expected.binding)
    assert edge[expected.effect[bound]].tolist() == bound.tolist()
    assert (edge >= 0).sum() == len(bound)


@settings(derandomize=True)
@given(graphs(), st.integers(0, 99))
def test_chosen_segments_are_in_the_order_of_all(model: Model, seed: int) -> None:
    segments, found = model.segments, model.dependencies
    chosen = np.unique(np.append(found.cause, found.effect))
    whole = replay_order(segments, found.cause, found.effect)
    assert whole.tolist() == causal_order(segments).tolist()
    links = find_links(segments, found)
    assert order_of(chosen, segments, links).tolist() == whole[np.isin(whole, chosen)].tolist()
    # As after a change: some follow others of no length, against the order of their positions.
    others = np.random.default_rng(seed).permutation(len(segments))[: 2 * (len(segments) // 2)]
    early, late = np.sort(others.reshape(-1, 2), axis=1).T
    back = replace(links, cause=np.append(links.cause, late), effect=np.append(links.effect, early))
    try:
        whole = replay_order(segments, *back.ends)
    except InputError:
        return
    assert order_of(chosen, segments, back).tolist() == whole[np.isin(whole, chosen)].tolist()


@settings(derandomize=True)
@given(rows(), st.sampled_from(list(POLICIES)))
def test_alternatives_are_those_of_whole_solutions(events: list[tiny.Row], policy: str) -> None:
    assume(any(lasts(row) for row in events))
    model = tiny.model(*events, policy=policy)
    found = {one: model.under(one) for one in POLICIES} | {"recorded only": model.found.recorded_only()}
    for row in find_alternatives(model):
        mine = found[str(row.pop("assumption"))]
        if not row.pop("chosen") and _differs(model.found, mine):
            assert row == _summarise(solve(model.scene, mine, policy, model.meetings))
        else:
            assert row == _summarise(model)
