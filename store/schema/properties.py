"""The terms in which the schema is declared: properties, labels, relationship types and indexes."""

from dataclasses import dataclass
from typing import Literal

PropertyType = Literal["INTEGER", "FLOAT", "STRING", "BOOLEAN"]
Need = Literal["first", "path", "late"]
"""When a new database needs an index."""


@dataclass(frozen=True)
class Property:
    """One property of a node or relationship; `unit` is empty for plain numbers and text."""

    name: str
    type: PropertyType
    description: str
    unit: str = ""


@dataclass(frozen=True)
class NodeLabel:
    """A label with the properties its nodes may carry; `besides`: another one of theirs, which lists them."""

    label: str
    description: str
    properties: tuple[Property, ...] = ()
    besides: str = ""


@dataclass(frozen=True)
class RelationshipType:
    """A relationship type, the labels it joins and its properties."""

    type: str
    start: str
    end: str
    description: str
    properties: tuple[Property, ...] = ()


@dataclass(frozen=True)
class Index:
    """An index over `properties` of `label`; `unique` makes it a constraint.

    The first screen of a report on one rank needs what is `needed` first; questions about segments or GPU
    work need those of the path, too. A late one is built after the first screen in any case.
    """

    label: str
    properties: tuple[str, ...]
    unique: bool = False
    needed: Need = "first"


def text(name: str, description: str) -> Property:
    """Declare a property that holds text."""
    return Property(name, "STRING", description)


def number(name: str, description: str, unit: str = "") -> Property:
    """Declare a property that holds an integer."""
    return Property(name, "INTEGER", description, unit)


def time(name: str, description: str) -> Property:
    """Declare a property that holds a time or a duration, in ns."""
    return number(name, description, "ns")
