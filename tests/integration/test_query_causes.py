"""Why a start had this cause and not another one: what `event_causes` says of every candidate."""

from collections.abc import Iterator

import pytest
from graphs import as_table, stored

from tracegraph.queries.catalog import ask
from tracegraph.store.connection import Database

RUN = "tiny-causes"


def edge(cause: str, effect: str, kind: str, mechanism: str, gap: int, lag: int) -> str:
    """A dependency in Cypher: binding unless its kind begins with `not`."""
    binding = "false" if kind.startswith("not ") else "true"
    properties = f"mechanism: '{mechanism}', gap_ns: {gap}, lag_ns: {lag}, binding: {binding}"
    properties += ", evidence: 'recorded', confidence: 1.0"
    return f"({cause})-[:{kind.removeprefix('not ')} {{{properties}}}]->({effect})"


def work(name: str, index: int, lane: int, start: int, end: int, margin: str = "null") -> str:
    """A leaf event that is its own segment."""
    return (
        f"({name}:Event:Segment {{name: '{name}', category: 'cpu_op', source_index: {index}, lane: {lane}, "
        f"start_ns: {start}, end_ns: {end}, chain: {index}, margin_ns: {margin}}})"
    )


LANES = [f"(:Lane {{run: $run, lane: {lane}, name: 'lane {lane}'}})" for lane in range(3)]
GRAPH = "CREATE " + ", ".join(
    [
        *LANES,
        work("call", 0, 0, 0, 100_000),
        work("work", 1, 1, 0, 99_000),
        work("other", 2, 2, 0, 60_000),
        work("race", 3, 1, 105_000, 110_000, "3000"),
        edge("call", "race", "INVOCATION", "launch", 5_000, 5_000),
        edge("work", "race", "not SEQUENTIAL", "stream order", 6_000, 3_000),
        edge("other", "race", "not SYNCHRONIZATION", "stream wait event", 45_000, 1_000),
        work("tie", 4, 2, 99_000, 120_000, "0"),
        edge("work", "tie", "SYNCHRONIZATION", "event synchronize", 0, 0),
        edge("other", "tie", "not SEQUENTIAL", "program order", 39_000, 39_000),
        edge("call", "tie", "not CROSS_THREAD", "GIL holder", 20, 10),
    ]
)


@pytest.fixture(scope="module", autouse=True)
def graph(database: Database) -> Iterator[None]:
    with stored(database, RUN, GRAPH):
        yield


@pytest.mark.parametrize(
    ("source_index", "expected"),
    [
        (
            3,
            [
                "call launch 105000 binding:_the_likeliest_lag_of_a_close_race",
                "work stream_order 102000 close_race:_its_lag_is_less_likely;_arrived_3000_ns_earlier",
                "other stream_wait_event 61000 arrived_44000_ns_earlier",
            ],
        ),
        (
            4,
            [
                "work event_synchronize 99000 binding,_but_a_near-tie:_another_cause_is_nearly_as_likely",
                "other program_order 99000 arrived_at_the_start,_too:_the_order_of_the_rules_decides",
                "call GIL_holder 98990 never_binding:_who_gets_the_GIL_next_is_nobody's_decision",
            ],
        ),
        (0, []),
        (7, []),
    ],
)
def test_every_candidate_says_why_it_won_or_lost(
    source_index: int, expected: list[str], database: Database
) -> None:
    found = ask(database, "event_causes", run=RUN, source_index=source_index)
    assert as_table(found[["cause_name", "mechanism", "arrival_ns", "verdict"]])[1:] == expected
