"""The header of a .cypher file is its signature: what is read from it, and that every file keeps to it."""

import ast
import importlib
import inspect
import re
from importlib.resources import files

import pytest

from tracegraph.base.errors import InputError
from tracegraph.queries import module
from tracegraph.queries.catalog import SHAPING, find, queries
from tracegraph.queries.module import CypherModule
from tracegraph.queries.runs import parse
from tracegraph.store.schema import schema
from tracegraph.vocabulary.categories import LABELS

MODULES = {name: module.load(name) for name in module.names()}
HEADER = """// One sentence.
// @param run STRING name of the run
// @param limit INTEGER rows listed, 1..10, default 3
// @param share FLOAT smallest share
// @param all BOOLEAN whether all are listed, default false
// @column name STRING? name of the event
// Order: name.

MATCH (e:Event {run: $run})
RETURN e.name AS name
"""
LABELS = {node.label for node in schema.NODES} | set(LABELS)
TYPES = {kind.type for kind in schema.RELATIONSHIPS}
PROPERTIES = {p.name for kind in (*schema.NODES, *schema.RELATIONSHIPS) for p in kind.properties}


def test_header_is_parsed() -> None:
    parsed = module.parse("example", HEADER)
    assert parsed.summary == "One sentence."
    assert [(p.name, p.type, p.bounds, p.default) for p in parsed.parameters] == [
        ("run", "STRING", None, None),
        ("limit", "INTEGER", (1, 10), 3),
        ("share", "FLOAT", None, None),
        ("all", "BOOLEAN", None, False),
    ]
    assert [(c.name, c.type, c.nullable) for c in parsed.columns] == [("name", "STRING", True)]


def test_labels_that_rows_need_are_parsed() -> None:
    needing = HEADER.replace("// Order", "// Needs: Kernel, Memcpy or Memset.\n// Order")
    assert module.parse("example", needing).needs == {"Kernel", "Memcpy", "Memset"}
    assert module.parse("example", needing.replace("Kernel, Memcpy or ", "")).needs == {"Memset"}
    assert module.parse("example", HEADER).needs == set()
    with pytest.raises(ValueError, match=r"example\.cypher"):
        module.parse("example", needing.replace("or", "and"))


@pytest.mark.parametrize("name", module.names())
def test_labels_that_rows_need_are_stored(name: str) -> None:
    assert module.load(name).needs <= LABELS


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (n) RETURN n",
        "// no capital.\nRETURN 1",
        "// No full stop\nRETURN 1",
        "// One sentence.\n// @param run TEXT of no type\nRETURN 1",
        "// One sentence.\n// @column name STRING\nRETURN 1",
        "// One sentence.\n// Remarks: none\nRETURN 1",
    ],
)
def test_header_out_of_form(text: str) -> None:
    with pytest.raises(ValueError, match=r"example\.cypher"):
        module.parse("example", text)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "needs parameter run"),
        ({"run": "r"}, "needs parameter share"),
        ({"run": "r", "share": 0.5, "top": 3}, "has no parameter top; example takes: run, limit, share, all"),
        ({"run": 1, "share": 0.5}, "run=1 is not allowed"),
        ({"run": "r", "share": 0.5, "limit": 0}, "limit=0 is not allowed"),
        ({"run": "r", "share": 0.5, "limit": 11}, "limit=11 is not allowed"),
        ({"run": "r", "share": 0.5, "limit": True}, "limit=True is not allowed"),
        ({"run": "r", "share": 0.5, "limit": 1.0}, "limit=1.0 is not allowed"),
        ({"run": "r", "share": 0.5, "all": 1}, "all=1 is not allowed"),
    ],
)
def test_values_refused(values: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        _complete(values)


def _complete(values: dict[str, object]) -> dict[str, object]:
    return module.complete_values("example", module.parse("example", HEADER).parameters, values)


def test_defaults_are_filled_in() -> None:
    complete = _complete({"run": "r", "share": 1})
    assert complete == {"run": "r", "limit": 3, "share": 1, "all": False}


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [("limit", "7", 7), ("share", "0.5", 0.5), ("all", "True", True), ("run", "7", "7")],
)
def test_typed_text(name: str, text: str, value: object) -> None:
    parameters = {p.name: p for p in module.parse("example", HEADER).parameters}
    assert parameters[name].parse(text) == value


@pytest.mark.parametrize(("name", "text"), [("limit", "7.5"), ("share", "half"), ("all", "1")])
def test_text_of_another_type(name: str, text: str) -> None:
    parameters = {p.name: p for p in module.parse("example", HEADER).parameters}
    with pytest.raises(InputError, match=f"{name}='{text}' is no"):
        parameters[name].parse(text)


def test_every_module_is_behind_a_query() -> None:
    assert {one.name for query in queries().values() for one in query.modules} == set(MODULES)


def test_every_part_is_included_by_several_modules() -> None:
    folder = files("tracegraph.queries") / "cypher"
    texts = [(folder / f"{name}.cypher").read_text() for name in MODULES]
    for part in (folder / "parts").iterdir():
        name = part.name.removesuffix(".cypher")
        assert sum(f"// @include {name}\n" in text for text in texts) >= 2, name
        assert "@include" not in part.read_text()


@pytest.mark.parametrize("name", MODULES)
def test_parameters_are_those_of_the_body(name: str) -> None:
    parameters = MODULES[name].parameters
    assert {p.name for p in parameters} == set(re.findall(r"\$(\w+)", MODULES[name].body))
    assert all(p.type != "LIST" for p in parameters)


@pytest.mark.parametrize("name", MODULES)
def test_names_are_in_the_schema(name: str) -> None:
    body = MODULES[name].body
    strings = re.sub(r"'[^']*'", "''", body)
    assert set(re.findall(r":([A-Z][a-z]\w*)", strings)) <= LABELS
    assert set(re.findall(r"\b[A-Z]+_[A-Z]+\b|:([A-Z]{2,})\b", strings)) - {""} <= TYPES
    keys = set(re.findall(r"[{,]\s*(\w+):", strings))
    assert set(re.findall(r"\b[a-z]\w*\.([a-z]\w*)", strings)) <= PROPERTIES | keys
    matched = re.findall(r"\(\w*:(\w+) \{([^}]*)\}", strings)
    for label, pattern in matched:
        node = next(node for node in schema.NODES if node.label == label)
        kinds = [one for one in schema.NODES if one.label in (node.label, node.besides)]
        assert set(re.findall(r"(\w+):", pattern)) <= {p.name for one in kinds for p in one.properties}


@pytest.mark.parametrize("name", MODULES)
def test_query_computes_and_does_not_write(name: str) -> None:
    body = MODULES[name].body
    assert "on_critical_path" not in body
    assert not re.search(r"\b(CREATE|MERGE|SET|DELETE|REMOVE|LOAD)\b", body)


def test_unknown_query_and_parameter() -> None:
    with pytest.raises(
        InputError, match="'hotspot'; did you mean hotspots\\? tracegraph query --list lists all "
    ):
        find("hotspot")
    with pytest.raises(
        InputError, match="takes: run, start_ns, end_ns, chain, limit, step, phase, occurrence, rank"
    ):
        parse(find("hotspots"), {"top": "3"})
    with pytest.raises(InputError, match="has no parameter run; it takes none"):
        parse(find("runs"), {"run": "x"})


def test_body_leaves_comments_out() -> None:
    example = CypherModule("x", "", (), (), "// $a\nRETURN $b\n  // $c\n")
    assert example.body == "RETURN $b"


def test_whatever_shapes_rest_on_is_in_their_source() -> None:
    found, todo = {"tracegraph.queries.module"}, ["tracegraph.queries.shapes.derived"]
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            tree = ast.parse(inspect.getsource(importlib.import_module(name)))
            imported = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
            todo += [str(node.module) for node in imported if str(node.module).startswith("tracegraph.")]
    others = {name for name in found if not name.startswith(SHAPING)}
    assert others == {"tracegraph.queries.module"}  # which makes no rows
    text = find("late_causes").source
    assert all(
        inspect.getsource(importlib.import_module(name)) in text for name in found if name.startswith(SHAPING)
    )


def test_a_parameter_with_a_question_mark_may_be_null() -> None:
    header = "// One.\n// @param rank INTEGER? rank of the process, 0..9, null for all\nRETURN $rank AS rank"
    parameters = module.parse("example", header).parameters
    assert module.complete_values("example", parameters, {}) == {"rank": None}
    assert module.complete_values("example", parameters, {"rank": 3}) == {"rank": 3}
    with pytest.raises(InputError, match="rank=10 is not allowed"):
        module.complete_values("example", parameters, {"rank": 10})
