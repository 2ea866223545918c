"""Sums over events of one name and category."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pandas as pd

from tracegraph.ingest.arrays import Ints, Texts
from tracegraph.ingest.text_columns import TextColumn


@dataclass(frozen=True)
class Kinds:
    """Distinct pairs of name and category; `number`: the pair of each of the events that were asked about."""

    number: Ints
    name: Texts
    category: Texts

    def lengths(self, lengths: Ints) -> Ints:
        """Sum up the events' lengths for each pair."""
        totals = np.zeros(len(self.name), dtype=np.int64)
        np.add.at(totals, self.number, lengths)
        return totals

    def longest(self, totals: Ints, most: int) -> list[int]:
        """List the pairs with the largest totals above 0, at most `most`; ties go by name and category."""
        order = sorted(
            np.flatnonzero(totals > 0).tolist(),
            key=lambda i: (-totals[i], str(self.name[i]), str(self.category[i])),
        )
        return order[:most]

    def row(self, totals: Ints, number: int) -> dict[str, object]:
        """Describe a pair with its total: name, category, duration_ns."""
        name, category = str(self.name[number]), str(self.category[number])
        return {"name": name, "category": category, "duration_ns": int(totals[number])}


class Named(Protocol):
    """Events that have a name and a category."""

    @property
    def name(self) -> TextColumn:
        """The name of each."""

    @property
    def category(self) -> TextColumn:
        """The category of each."""


def find_kinds(events: Named, index: Ints) -> Kinds:
    """Assign numbers to the events at `index` by name and category."""
    count = len(events.category.values)
    pair = events.name.codes[index] * np.int64(count) + events.category.codes[index]
    number, pairs = pd.factorize(pair)
    return Kinds(number, events.name.values[pairs // count], events.category.values[pairs % count])
