"""A .cypher file as a checked, typed query: its header is its signature."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tracegraph.base.errors import InputError
from tracegraph.base.suggest import did_you_mean

if TYPE_CHECKING:  # the driver takes half a second, and what only asks for columns does without it
    from tracegraph.store.connection import Database

PYTHON_TYPES: dict[str, type] = {"INTEGER": int, "FLOAT": float, "STRING": str, "BOOLEAN": bool}
DTYPES: dict[tuple[str, bool], Any] = {
    ("INTEGER", False): "int64",
    ("INTEGER", True): "Int64",
    ("FLOAT", False): "float64",
    ("FLOAT", True): "float64",
    ("BOOLEAN", False): "bool",
    ("BOOLEAN", True): "boolean",
}
"""The type of a result's column in pandas, by its type in the header and whether it is nullable."""
_FIELD = re.compile(r"// @(param|column) (\w+) (INTEGER|FLOAT|STRING|BOOLEAN|LIST)(\??) (\S.*)")
_NOTE = re.compile(r"// (Order|Empty when|Needs|Cost|Index): \S.*")
_NEEDS = re.compile(r"Needs: (\w+(?:, \w+)*)(?: or (\w+))?\.")
_NO_INDEX = "Index: needs none."
"""The note of a module that a database without indexes answers nearly as fast."""
_FIRST_INDEXES = "Index: needs those of a first screen."
"""The note of a module that does not look for segments or single events by an index."""
_BOUNDS = re.compile(r"(-?\d+)\.\.(-?\d+)")
_DEFAULT = re.compile(r"default (\S+)")
_FOLDER, _ENDING = files("tracegraph.queries") / "cypher", ".cypher"
_BOOLEANS = {"true": True, "false": False}
_INCLUDE = re.compile(r"^ *// @include (\w+)\n", re.MULTILINE)


@dataclass(frozen=True)
class Column:
    """One result column; `nullable` is written as `?` after the type."""

    name: str
    type: str
    nullable: bool
    meaning: str


@dataclass(frozen=True)
class Parameter:
    """One parameter; bounds and default are read from its meaning (`1..1000, default 10`).

    `nullable` is written as `?` after the type: the parameter may be left out, and the meaning says what null
    means.
    """

    name: str
    type: str
    meaning: str
    bounds: tuple[int, int] | None = None
    default: object = None
    nullable: bool = False

    def parse(self, text: str) -> object:
        """Read the value of a text typed by a user; InputError if it is not of the parameter's type."""
        try:
            if self.type == "BOOLEAN":
                return _BOOLEANS[text.lower()]
            return PYTHON_TYPES[self.type](text)
        except (KeyError, ValueError):
            raise InputError(
                f"parameter {self.name}={text!r} is no {self.type}", f"it means: {self.meaning}"
            ) from None

    def check(self, value: object) -> None:
        """Raise InputError unless `value` has the parameter's type and lies in its bounds, ends included."""
        allowed = (int, float) if self.type == "FLOAT" else PYTHON_TYPES[self.type]
        fits = isinstance(value, allowed) and (self.type == "BOOLEAN") == isinstance(value, bool)
        if fits and isinstance(value, (int, float)) and self.bounds is not None:
            fits = self.bounds[0] <= value <= self.bounds[1]
        if not fits:
            raise InputError(
                f"parameter {self.name}={value!r} is not allowed", f"{self.type}: {self.meaning}"
            )


@dataclass(frozen=True)
class CypherModule:
    """A query with its signature: summary, parameters, result columns, the text that is sent, notes."""

    name: str
    summary: str
    parameters: tuple[Parameter, ...]
    columns: tuple[Column, ...]
    text: str
    notes: tuple[str, ...] = ()

    @property
    def body(self) -> str:
        """The text without comment lines."""
        lines = self.text.splitlines()
        return "\n".join(line for line in lines if not line.lstrip().startswith("//"))

    @property
    def needs_index(self) -> bool:
        """Tell whether it would read all nodes of a label again and again while an index is being built."""
        return _NO_INDEX not in self.notes

    @property
    def needs_all_indexes(self) -> bool:
        """Tell whether it would do so with those indexes alone that the first screen of one rank needs."""
        return self.needs_index and _FIRST_INDEXES not in self.notes

    @property
    def needs(self) -> frozenset[str]:
        """Labels of which a run with rows has one, as in `// Needs: Kernel or Memcpy.`; none: unknown."""
        found = (_NEEDS.fullmatch(note) for note in self.notes)
        return frozenset(
            label for match in found if match for part in match.groups() if part for label in part.split(", ")
        )

    def nothing(self) -> pd.DataFrame:
        """Return a result without rows."""
        return no_rows(self.columns)

    def run(self, database: "Database", **values: object) -> pd.DataFrame:
        """Ask the query; the result has the header's columns, in its order and types.

        Returns
        -------
        pd.DataFrame
            INTEGER is int64 (Int64 if nullable), FLOAT float64, BOOLEAN bool (boolean if nullable), STRING
            object with None for null, LIST object.

        Raises
        ------
        InputError
            A parameter is missing, unknown, of another type or out of bounds.
        """
        complete = complete_values(self.name, self.parameters, values)
        return in_types(database.read(self.text, complete), self.columns)


def complete_values(
    query: str, parameters: Iterable[Parameter], values: Mapping[str, object]
) -> dict[str, object]:
    """Check the values of all parameters of a query and fill in defaults; InputError says what is valid."""
    known = {parameter.name: parameter for parameter in parameters}
    valid = f"{query} takes: {', '.join(known) or 'no parameters'}"
    for name in values:
        if name not in known:
            raise InputError(f"query {query} has no parameter {name}", did_you_mean(name, known, valid))
    complete = {name: python_value(values.get(name, parameter.default)) for name, parameter in known.items()}
    for name, value in complete.items():
        if value is not None:
            known[name].check(value)
        elif not known[name].nullable:
            raise InputError(f"query {query} needs parameter {name}", valid)
    return complete


def python_value(value: object) -> object:
    """Convert a value to Python's own: those of a frame's columns are numpy's."""
    return value.item() if isinstance(value, np.generic) else value


def in_types(frame: pd.DataFrame, columns: Iterable[Column]) -> pd.DataFrame:
    """Return the columns of a result in their order and types; texts may stay categories.

    The types are those of `CypherModule.run`.
    """
    typed = {column.name: _typed(frame[column.name], column) for column in columns}
    return pd.DataFrame(typed, copy=False)  # a million rows of a path take half a second to copy


def no_rows(columns: Sequence[Column]) -> pd.DataFrame:
    """Return a result with these columns, of their types, and without rows."""
    return in_types(pd.DataFrame(columns=[column.name for column in columns]), columns)


def _typed(values: "pd.Series[Any]", column: Column) -> "pd.Series[Any]":
    if column.type == "LIST":
        return values.astype(object)
    if isinstance(values.dtype, pd.CategoricalDtype):
        return values
    if column.type == "STRING":
        texts = values.astype(object)
        return texts.where(texts.notna(), None)
    return values.astype(DTYPES[column.type, column.nullable])


def parse(name: str, text: str) -> CypherModule:
    """Read a module from the text of a .cypher file; ValueError names the first malformed header line."""
    header = []
    for line in text.splitlines():
        if not line.startswith("//"):
            break
        header.append(line)
    if not header or not re.fullmatch(r"// [A-Z].*[^.]\.", header[0]):
        raise ValueError(f"{name}.cypher: the first line is not one sentence: {header[:1]}")
    parameters, columns, notes = [], [], []
    for line in header[1:]:
        match = _FIELD.fullmatch(line)
        if match is None:
            if not _NOTE.fullmatch(line) or (line.startswith("// Needs") and not _NEEDS.fullmatch(line[3:])):
                raise ValueError(f"{name}.cypher: not a header line: {line}")
            notes.append(line[3:])
            continue
        kind, field, type_, nullable, meaning = match.groups()
        if kind == "column":
            columns.append(Column(field, type_, bool(nullable), meaning))
        else:
            parameters.append(_parameter(field, type_, meaning, nullable=bool(nullable)))
    return CypherModule(name, header[0][3:], tuple(parameters), tuple(columns), text, tuple(notes))


def _parameter(name: str, type_: str, meaning: str, *, nullable: bool) -> Parameter:
    bounds = _BOUNDS.search(meaning)
    default = _DEFAULT.search(meaning)
    limits = (int(bounds[1]), int(bounds[2])) if bounds is not None else None
    parameter = Parameter(name, type_, meaning, limits, nullable=nullable)
    return parameter if default is None else replace(parameter, default=parameter.parse(default[1]))


@cache
def load(name: str) -> CypherModule:
    """Read the module in `cypher/{name}.cypher` of this package, with the parts that it includes."""
    return parse(name, _INCLUDE.sub(_part, _read(name)))


@cache
def names() -> tuple[str, ...]:
    """Return the names of all modules, sorted."""
    files_here = (path.name for path in _FOLDER.iterdir())
    return tuple(sorted(name.removesuffix(_ENDING) for name in files_here if name.endswith(_ENDING)))


def _part(include: re.Match[str]) -> str:
    """Read a part: text that several modules need word for word, such as the walk over chains."""
    return _read(f"parts/{include[1]}")


def _read(name: str) -> str:
    return (_FOLDER / f"{name}{_ENDING}").read_text(encoding="utf-8")
