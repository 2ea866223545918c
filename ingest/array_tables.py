"""Choose, expand and join the rows of tables that are dataclasses of arrays, one for each column."""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from tracegraph.ingest.arrays import Flags, Ints

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Table = TypeVar("Table", bound="DataclassInstance")


def select_rows(table: Table, chosen: Flags | Ints) -> Table:
    """Keep the chosen rows of a table, by a mask or by positions."""
    # A mask takes several times as long as positions, and there are a dozen columns.
    place = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
    return replace(table, **{field.name: getattr(table, field.name)[place] for field in fields(table)})


def expand_ranges(first: Ints, size: Ints) -> tuple[Ints, Ints]:
    """List all positions in ranges of `size` that begin at `first`.

    Returns
    -------
    number, position
        For each position the index of its range, and the position itself.
    """
    number = np.repeat(np.arange(len(size)), size)
    position = np.arange(len(number)) + np.repeat(first - np.cumsum(size) + size, size)
    return number, position


def join_rows(parts: Sequence[Table]) -> Table:
    """Join the rows of several tables of one kind in their order; at least one table must be given."""
    first = parts[0]
    columns = {f.name: np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(first)}
    return replace(first, **columns)


def count_in_groups(group: Ints) -> Ints:
    """Count for each entry those of its group that come before it; the entries of a group stand together."""
    place = np.arange(len(group))
    begins = np.append(True, group[1:] != group[:-1])[: len(group)]
    counted: Ints = place - np.maximum.accumulate(np.where(begins, place, 0))
    return counted


def find_positions(keys: Ints, wanted: Ints) -> Ints:
    """Find where each wanted number stands in `keys`, at its first place; -1 where it does not."""
    order = np.argsort(keys, kind="stable")
    place = np.searchsorted(keys[order], wanted, "left")
    found = np.append(order, -1)[place]
    same = np.append(keys, 0)[found] == wanted
    return np.where((found >= 0) & same, found, -1)
