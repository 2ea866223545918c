"""Every tiny trace in docs/rules.md gives what the document says of it, and every rule has one."""

from pathlib import Path

import pytest
from written_traces import WrittenTrace, written_traces

from tracegraph.vocabulary.mechanisms import MECHANISMS, WORK_IN_SHORT

TRACES = list(written_traces(Path(__file__).parents[2] / "docs" / "rules.md"))


@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: trace.section)
def test_a_trace_gives_what_is_written(trace: WrittenTrace) -> None:
    assert trace.stated
    assert [line for line in trace.stated if line not in trace.found] == []


def test_every_rule_has_a_trace_that_shows_it() -> None:
    shown = {trace.section for trace in TRACES if any(f": {trace.section}," in line for line in trace.stated)}
    # What needs several files cannot be shown by one trace: test_ranks_in_short shows it.
    assert {mechanism.name for mechanism in MECHANISMS} - shown == {WORK_IN_SHORT}
