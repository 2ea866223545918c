"""Categories, mechanisms and gaps are declared once, and nothing else in the product writes their names."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import tiny
from tiny import Row, call, event, kernel

from tracegraph.queries.shapes.peak.missing_inputs import WAITS_INSIDE
from tracegraph.store.schema.node_labels import SEGMENT_KINDS
from tracegraph.store.schema.schema import DEPENDENCIES
from tracegraph.vocabulary import categories, gaps, mechanisms
from tracegraph.vocabulary.categories import (
    ANY_OTHER,
    CATEGORIES,
    LIBRARY_COLLECTIVE,
    NOT_IN_LANES,
    Role,
    find_category,
    is_known,
    labels_of,
)
from tracegraph.vocabulary.collectives import CALLS, CAUSES, KIND, ON_THREADS
from tracegraph.vocabulary.evidence import EVIDENCE
from tracegraph.vocabulary.gaps import GAP_NAMES
from tracegraph.vocabulary.kernel_types import IDLE_CATEGORIES, KERNEL_TYPES, OTHERS
from tracegraph.vocabulary.mechanisms import MECHANISMS
from tracegraph.vocabulary.phases import PHASE_NAMES
from tracegraph.vocabulary.step_names import STEP_PREFIX, step_number

ROOT = Path(__file__).parents[2]
DECLARED = ("categories.py", "gaps.py", "mechanisms.py", "step_names.py")
MODULES = [
    path
    for room in ("store", "ingest", "queries", "cli")
    for path in sorted((ROOT / room).rglob("*.py"))
    if path.name not in DECLARED or path.parent.name != "store"
]
WITHOUT_FRAMES = {f'"{label}"' for label in labels_of(*NOT_IN_LANES, Role.OTHER) | {ANY_OTHER.label}}
"""Labels of events that have no place in a lane, or may be a moment, as a run's counts name them."""
VALUES = {
    *(*SEGMENT_KINDS, *EVIDENCE, *CAUSES, "thread", "stream", "ready", "[]", "{}", r"\n", STEP_PREFIX),
    *(*KIND, *PHASE_NAMES, *KERNEL_TYPES, *IDLE_CATEGORIES, OTHERS, "call", "delay", "CPU", "GPU"),
    *WITHOUT_FRAMES,
    *(" overlapping ", "", "|", ",", " -> ", CALLS, *ON_THREADS, WAITS_INSIDE),
}
"""Texts in Cypher that are no names: kinds of things, states, JSON, steps, what joins names, a sentence."""
CYPHER = sorted((ROOT / "queries" / "cypher").rglob("*.cypher"))
NAMES = {
    *(category.name for category in CATEGORIES),
    *(mechanism.name for mechanism in MECHANISMS),
    *GAP_NAMES,
}
LONG = [name for name in sorted(NAMES) if re.search("[ _]", name)]
"""Names that are no words of everyday language: they stand nowhere, not even within other texts."""
HOMONYMS = {
    *(("store/schema/node_labels.py", word) for word in ("Trace", "collective", "gap")),
    *(("store/schema/schema.py", word) for word in ("Trace",)),
    *(("ingest/trace.py", word) for word in ("collective",)),
    *(("ingest/integrity/trace_checks.py", word) for word in ("collective",)),
    *(("ingest/tables/graph.py", word) for word in ("Trace",)),
    *(("ingest/tables/companions.py", word) for word in ("Trace",)),
    *(("ingest/tables/nodes.py", word) for word in ("Trace",)),
    *(("ingest/what_if/graph/facts.py", word) for word in ("Trace",)),
    *(("ingest/what_if/scenarios/keep.py", word) for word in ("Trace",)),
    *(("ingest/readers/operations/log_events.py", word) for word in ("collective",)),
    *(("ingest/ranks/members.py", word) for word in ("collective",)),
    *(("workbench/findings/metrics.py", word) for word in ("launch", "kernel")),
    *(("vocabulary/bounds.py", word) for word in ("launch",)),
}
"""A column, a label, a kind of segments, a regular expression and a word in a sentence, not names."""


def texts(path: Path) -> Iterator[str]:
    """All texts of a module but its docstrings."""
    tree = ast.parse(path.read_text())
    said = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.value


def test_no_module_writes_a_name_of_the_vocabulary() -> None:
    found = [(str(path.relative_to(ROOT)), text) for path in MODULES for text in texts(path)]
    assert len(found) > 1000
    assert [pair for pair in found if pair[1] in NAMES and pair not in HOMONYMS] == []
    within = re.compile("|".join(rf"\b{re.escape(name)}\b" for name in LONG))
    assert [pair for pair in found if within.search(pair[1]) or pair[1].startswith(STEP_PREFIX)] == []


def test_every_homonym_is_still_needed() -> None:
    assert [(where, word) for where, word in HOMONYMS if word not in texts(ROOT / where)] == []


@pytest.mark.parametrize("path", CYPHER, ids=lambda path: path.stem)
def test_every_name_in_cypher_is_of_the_vocabulary(path: Path) -> None:
    """All texts are names or values; sentences stand in a column `verdict` only."""
    code = re.sub(r"//.*|\\'", "", path.read_text())
    code = re.sub(r"CASE(?:(?!CASE|\bEND\b).)*END AS verdict", "", code, flags=re.DOTALL)
    found = set(re.findall(r"'([^']*)'", code))
    assert found <= {*NAMES, *VALUES}
    assert found or "'" not in code


def test_close_races_in_cypher_are_those_of_the_rules() -> None:
    text = (ROOT / "queries" / "cypher" / "event_causes.cypher").read_text()
    listed = re.search(r"d\.mechanism IN \[([^\]]*)\] AND d\.gap_ns - d\.lag_ns <= 20000", text)
    assert listed is not None
    racing = [mechanism.name for mechanism in MECHANISMS if mechanism.races]
    assert re.findall(r"'([^']*)'", listed[1]) == racing


def test_where_events_may_have_no_frame_all_are_looked_at() -> None:
    text = (ROOT / "queries" / "cypher" / "times_about.cypher").read_text()
    listed = re.search(r"label IN \[([^\]]*)\]", text)
    assert listed is not None
    assert set(re.findall(r"'([^']*)'", listed[1])) == WITHOUT_FRAMES


def test_operations_off_gpus_are_looked_for_under_every_back_end_and_of_ranks_in_short() -> None:
    text = (ROOT / "queries" / "cypher" / "parts" / "off_gpus.cypher").read_text()
    listed = re.search(r"library IN \[([^\]]*)\]", text)
    assert listed is not None
    assert tuple(re.findall(r"'([^']*)'", listed[1])) == ON_THREADS
    assert f"'{LIBRARY_COLLECTIVE}'" in text


def test_every_constant_is_in_its_table() -> None:
    for module, names in (
        (gaps, list(GAP_NAMES)),
        (mechanisms, [mechanism.name for mechanism in MECHANISMS]),
        (categories, [category.name for category in CATEGORIES]),
    ):
        declared = [value for name, value in vars(module).items() if name.isupper() and type(value) is str]
        assert set(declared) <= set(names)
        assert len(set(names)) == len(names)


def test_rules_name_kinds_and_gaps_that_exist() -> None:
    assert {mechanism.kind for mechanism in MECHANISMS} == set(DEPENDENCIES)
    assert {mechanism.gap for mechanism in MECHANISMS} <= set(GAP_NAMES)


@pytest.mark.parametrize("category", CATEGORIES, ids=lambda category: category.name)
def test_a_category_is_found_by_both_spellings(category: categories.Category) -> None:
    assert find_category(category.name) is category
    assert not category.old_spelling or find_category(category.old_spelling) is category
    assert is_known(category.name) == (category.role not in (Role.SPAN, Role.GAP))


def test_what_no_table_knows_is_other() -> None:
    assert [find_category(name) for name in ("tea_break", "", None)] == [ANY_OTHER] * 3
    assert not is_known("tea_break")


@pytest.mark.parametrize("name", ["xpu_runtime", "privateuse1_driver", "hip_runtime"])
def test_calls_of_any_vendor_are_calls(name: str) -> None:
    like = find_category("cuda_driver" if name.endswith("driver") else "cuda_runtime")
    found = find_category(name)
    assert (found.name, found.role, found.label, found.colour) == (name, Role.CALL, like.label, like.colour)
    assert is_known(name)


@pytest.mark.parametrize("name", ["cuda_driver", "xpu_runtime", "mtia_runtime"])
def test_the_model_takes_calls_of_any_vendor_alike(name: str) -> None:
    def rows(category: str) -> list[Row]:
        calls = [call("anyLaunchKernel", 1, 5, 7), call("anyDeviceSynchronize", 6, 42, 8)]
        others = [event("op", 0, 50), kernel("k", 7, 40, 7)]
        return [*others, *({**row, "category": category} for row in calls)]

    found, expected = tiny.model(*rows(name)), tiny.model(*rows("cuda_runtime"))
    kinds = ("INVOCATION", "SYNCHRONIZATION", "SEQUENTIAL")
    assert tiny.dependencies(found, *kinds) == tiny.dependencies(expected, *kinds)
    assert ("k@7", "device synchronize") in {row[:2] for row in tiny.dependencies(found, "SYNCHRONIZATION")}
    assert tiny.path(found) == tiny.path(expected)


def test_a_step_is_told_by_its_name() -> None:
    names = ("ProfilerStep#12", "ProfilerStep#", "ProfilerStep#1 of 2", "x")
    assert [step_number(name) for name in names] == [12, None, None, None]
