"""What other operations and algorithms would take, by latency and bandwidth of a fitted ring all-reduce."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import ceil, log2
from typing import Any

import pandas as pd

from tracegraph.queries.module import Column, Parameter
from tracegraph.queries.shapes.derived_query import Values
from tracegraph.queries.shapes.frame_rows import records
from tracegraph.queries.shapes.transfers.fit import transfer_fit
from tracegraph.queries.shapes.transfers.points import transfer_points
from tracegraph.vocabulary.collectives import NCCL_TABLE, RING, TREE

_NS_PER_S = 1e9
PREDICTION_PARAMETERS = (
    Parameter(
        "bytes", "INTEGER", "data of one operation, B; null: the fitted sizes", (1, 1 << 50), None, True
    ),
)
PREDICTION_COLUMNS = (
    Column("kind", "STRING", False, "kind of operation that is predicted"),
    Column("algorithm", "STRING", False, "`ring` or `tree`; what is no reduction to all goes round the ring"),
    Column("ranks", "INTEGER", False, "number of ranks"),
    Column("bytes", "INTEGER", False, "data of one operation, counted as NCCL's tests do, B"),
    Column("time_ns", "INTEGER", False, "predicted time of one, ns"),
    Column("table_ns", "INTEGER", True, "what NCCL's own table says of it, by its best protocol, ns"),
    Column("measured_ns", "INTEGER", True, "what was measured for this, null: nobody checked it, ns"),
    Column("error", "FLOAT", True, "prediction by measurement, less 1"),
    Column("table_error", "FLOAT", True, "NCCL's table by measurement, less 1"),
    Column("is_within", "BOOLEAN", False, "whether the size lies in the range of the fit"),
    Column(
        "break_even_bytes", "FLOAT", True, "size at which ring and tree take the same time; null without α, B"
    ),
    Column("source", "STRING", False, "who measured the all-reduces that the prediction rests on"),
    Column("group", "STRING", True, "name of their process group, where a trace states it"),
)
"""Columns of `transfer_predictions`."""


@dataclass(frozen=True)
class Link:
    """One step between two neighbours of a ring of `ranks`: latency in ns, and ns a byte."""

    ranks: int
    step_ns: float
    byte_ns: float

    @classmethod
    def of_ring(cls, ranks: int, alpha_ns: float, bytes_per_s: float) -> "Link":
        """Take apart a ring all-reduce, whose 2(P - 1) steps move 2(P - 1)/P of the data.

        Parameters
        ----------
        ranks
            P, the members of the ring; two or more.
        alpha_ns
            The latency of the whole operation.
        bytes_per_s
            The size of the data over the time that grows with it: the algorithm's bandwidth.
        """
        steps = 2 * (ranks - 1)
        return cls(ranks, alpha_ns / steps, _NS_PER_S / (bytes_per_s * steps / ranks))

    def ring(self, size: float) -> float:
        """Return the time of a ring all-reduce: 2(P - 1) steps, each with a P-th of the data."""
        return 2 * self.once_round(size)

    def once_round(self, size: float) -> float:
        """Return the time of P - 1 steps with a P-th of the data each: all_gather, all_to_all and others."""
        return (self.ranks - 1) * (self.step_ns + size / self.ranks * self.byte_ns)

    def tree(self, size: float) -> float:
        """Return the time of a tree all-reduce: up and down, with the data in a pipeline."""
        return 2 * ceil(log2(self.ranks)) * self.step_ns + 2 * size * self.byte_ns

    @property
    def break_even(self) -> float:
        """The size from which on the ring is the faster one: P(P - 1 - ⌈log₂P⌉)·α·β of a step."""
        return self.ranks * (self.ranks - 1 - ceil(log2(self.ranks))) * self.step_ns / self.byte_ns


_WAYS: tuple[tuple[str, str, Callable[[Link, float], float]], ...] = (
    ("all_reduce", RING, Link.ring),
    ("all_reduce", TREE, Link.tree),
    *(
        (kind, RING, Link.once_round)
        for kind in ("all_gather", "reduce_scatter", "gather", "scatter", "all_to_all")
    ),
)


def transfer_predictions(
    values: Values, transfers: pd.DataFrame, files: pd.DataFrame, stated: pd.DataFrame
) -> pd.DataFrame:
    """Predict operations of each kind from each fit of all-reduces by a ring.

    All-reduces whose algorithm no log states are taken for rings, as NCCL's large ones mostly are.
    """
    fits = records(transfer_fit(values, transfers, files, stated))
    points = records(transfer_points(values, transfers, files, stated))
    table = [one for one in records(stated) if one["source"] == NCCL_TABLE]
    rows = [
        row for fit in fits if _is_ring(fit) for row in _predicted(fit, points, table, values.get("bytes"))
    ]
    return pd.DataFrame(rows, columns=[column.name for column in PREDICTION_COLUMNS])


def _is_ring(fit: Mapping[str, Any]) -> bool:
    is_ring = fit["kind"] == "all_reduce" and fit["algorithm"] in (RING, None)
    return bool(
        is_ring and fit["bytes_per_s"] is not None and (fit["ranks"] or 0) > 1 and not fit["in_place"]
    )


def _predicted(
    fit: Mapping[str, Any],
    points: list[dict[str, Any]],
    table: list[dict[str, Any]],
    size: int | None,
) -> Iterator[dict[str, Any]]:
    link = Link.of_ring(int(fit["ranks"]), max(0.0, float(fit["alpha_ns"])), float(fit["bytes_per_s"]))
    own = [one for one in points if all(one[name] == fit[name] for name in ("source", "group", "ranks"))]
    sizes = sorted({one["bytes"] for one in own if one["kind"] == fit["kind"]}) if size is None else [size]
    for kind, algorithm, take in _WAYS:
        for moved in sizes:
            predicted, told = take(link, float(moved)), _by_table(table, fit["ranks"], kind, algorithm, moved)
            measured = _measured(own, kind, algorithm, moved)
            yield {
                **{name: fit[name] for name in ("source", "group", "ranks")},
                "kind": kind,
                "algorithm": algorithm,
                "bytes": moved,
                "time_ns": round(predicted),
                "table_ns": None if told is None else round(told),
                "measured_ns": measured,
                "error": predicted / measured - 1 if measured else None,
                "table_error": told / measured - 1 if measured and told else None,
                "is_within": fit["valid_from"] <= moved <= fit["valid_to"],
                "break_even_bytes": link.break_even if fit["is_alpha_known"] else None,
            }


def _by_table(table: list[dict[str, Any]], ranks: int, kind: str, algorithm: str, size: int) -> float | None:
    """Return latency and data by bandwidth of NCCL's table for so many ranks, by the fastest protocol."""
    return min(
        (
            one["latency_ns"] + size / one["bandwidth"] * _NS_PER_S
            for one in table
            if one["kind"] == kind and one["algorithm"] == algorithm and one["ranks"] in (ranks, None)
        ),
        default=None,
    )


def _measured(points: list[dict[str, Any]], kind: str, algorithm: str, size: int) -> int | None:
    """Return the time that was measured for this; a ring's where no log states the algorithm."""
    for one in points:
        way = one["algorithm"] or RING
        if (one["kind"], way, one["bytes"]) == (kind, algorithm, size) and not one["in_place"]:
            return int(one["time_ns"])
    return None
