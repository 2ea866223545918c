"""Which share of their link operations reach: algorithm and bus bandwidth by kind, group and size."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tracegraph.base.errors import InputError
from tracegraph.queries.module import Column, Parameter
from tracegraph.queries.shapes.derived_query import Values
from tracegraph.queries.shapes.frame_rows import records
from tracegraph.queries.shapes.links.known_links import LINK, LINKS, find_link
from tracegraph.queries.shapes.links.missing_inputs import Facts, lacking
from tracegraph.queries.shapes.peak.devices import device_names, device_of
from tracegraph.queries.shapes.peak.job import JOB_PARAMETERS, LINK_PARAMETER
from tracegraph.vocabulary.collectives import KIND
from tracegraph.vocabulary.evidence import EVIDENCE

LINK_PARAMETERS = (
    LINK_PARAMETER,
    *(one for one in JOB_PARAMETERS if one.name == "device"),
    Parameter("limit", "INTEGER", "rows listed", (1, 10_000), 100, False),
)
STATED = "stated"
"""Source of a link of which the user says how fast it is."""
LINK_COLUMNS = (
    Column(
        "rank", "INTEGER", True, "rank whose kernels these are, null for operations that several ranks show"
    ),
    Column("name", "STRING", True, "kind of operation, null where neither file nor name says it"),
    Column("group", "STRING", True, "name of the process group, where the file states it"),
    Column("ranks", "INTEGER", True, "number of ranks of the group"),
    Column("bytes", "INTEGER", True, "data of one operation as NCCL's tests count it, B"),
    Column("count", "INTEGER", False, "number of operations"),
    Column("sum_ns", "INTEGER", False, "all their transfers, of kernels alone with the waits in them, ns"),
    Column("transfer_ns", "INTEGER", False, "median of one of them, ns"),
    Column("algorithm_bandwidth", "FLOAT", True, "data by the median, B/s"),
    Column(
        "bus_bandwidth",
        "FLOAT",
        True,
        "the same as links carry it, by the factors of NCCL's tests, comparable between kinds and sizes, B/s",
    ),
    Column("link", "STRING", True, "what joins the ranks, null where that is not known"),
    Column("link_bytes_per_s", "FLOAT", True, "what a GPU can send over it, in one direction, B/s"),
    Column("link_source", "STRING", True, "document that states it, or `stated` by the user"),
    Column("share", "FLOAT", True, "bus bandwidth as a share of the link, 0..1"),
    Column(
        "spread",
        "FLOAT",
        True,
        "ninth by first decile of the transfers of equal messages; null for one message",
    ),
    Column(
        "is_least",
        "BOOLEAN",
        False,
        "whether waits for other ranks are inside, so that the bandwidths are least values",
    ),
    Column(
        "evidence",
        "STRING",
        False,
        f"`{EVIDENCE[0]}`: ids match the members, or they are a rank's own kernels; `{EVIDENCE[1]}`: their "
        "order does",
    ),
    Column("lacks", "STRING", True, "what is missing, and what to give or record"),
)
"""Columns of `link_use`."""
_NS_PER_S, _GIGA = 1e9, 1e9


@dataclass(frozen=True)
class Rate:
    """A link with its rate in B/s and who states it."""

    name: str
    bytes_per_s: float
    source: str


def stated_link(text: str | None) -> Rate | None:
    """Read what a user says of the link: GB/s of one GPU in one direction, or the name of a known link.

    Raises
    ------
    InputError
        It is neither.
    """
    if text is None:
        return None
    known = LINK.get(text.strip().lower())
    if known is not None:
        return Rate(known.name, known.bytes_per_s, known.source)
    try:
        gigabytes = float(text)
    except ValueError:
        gigabytes = -1
    if not 0 < gigabytes < float("inf"):
        listed = ", ".join(one.name for one in LINKS)
        raise InputError(f"link={text!r} is not known", f"give GB/s above 0, or one of {listed}")
    return Rate(f"{gigabytes:g} GB/s", gigabytes * _GIGA, STATED)


def with_link_checked(values: Mapping[str, Any]) -> dict[str, Any]:
    """Refuse a link that nobody knows before anything is asked."""
    stated_link(values.get("link"))
    return dict(values)


def in_one_node(ranks: str | None, size: int | None, devices: int) -> bool | None:
    """Tell whether a group lies in one node of so many GPUs, whose ranks follow each other; None: unknown.

    Parameters
    ----------
    ranks
        A JSON list of the ranks of the group; None where it is not recorded.
    size
        How many ranks the group has.
    devices
        How many GPUs a node has; 0 where that is unknown.
    """
    if size is not None and size > devices:
        return False
    listed = json.loads(ranks or "[]")
    if not devices or size is None or len(listed) < size:
        return None
    return len({rank // devices for rank in listed}) == 1


def link_use(values: Values, transfers: pd.DataFrame, files: pd.DataFrame) -> pd.DataFrame:
    """Compare the bus bandwidth of operations with their link, from the rows of `transfers` and `traces`.

    Factors are those of NCCL's tests (github.com/NVIDIA/nccl-tests, doc/PERFORMANCE.md). Which link joins the
    ranks is inferred: that of their GPUs where all lie in one node, else only the user knows it. What takes
    longest in all comes first.
    """
    given, names = stated_link(values.get("link")), device_names(files)
    rows = []
    for one in records(transfers):
        told = names.get(int(one["rank"]), []) if one["rank"] is not None else _of_all(names)
        device = values.get("device") or device_of(told, None)
        rows.append(_row(one, device, len(told), given))
    found = pd.DataFrame(rows, columns=[column.name for column in LINK_COLUMNS])
    return found.sort_values("sum_ns", ascending=False, kind="stable").head(int(values["limit"]))


def _of_all(names: Mapping[int, list[str]]) -> list[str]:
    """Return the devices that every file lists; none if they differ."""
    distinct = {tuple(one) for one in names.values()}
    return list(distinct.pop()) if len(distinct) == 1 else []


def _row(one: Mapping[str, Any], device: str | None, devices: int, given: Rate | None) -> dict[str, Any]:
    kind = None if one["name"] is None else KIND[one["name"]]
    size, took = one["size"], np.asarray(one["transfer_ns"], dtype=np.int64)
    median = int(np.percentile(took, 50, method="inverted_cdf"))
    moved = one["bytes"] if kind is not None and kind.moves_data else None
    algorithm = moved * _NS_PER_S / median if moved is not None and median > 0 else None
    bus = algorithm * kind.bus_factor(size) if algorithm is not None and kind and size and size > 1 else None
    one_node = in_one_node(one["ranks"], size, devices)
    joined = find_link(device) if one_node else None
    rate = given or (joined and Rate(joined.name, joined.bytes_per_s, joined.source)) or None
    share = bus / rate.bytes_per_s if bus is not None and rate is not None else None
    facts = Facts(
        name=one["name"],
        moves_data=kind is not None and kind.moves_data,
        bytes=moved,
        size=size,
        device=device,
        devices=devices,
        nodes_known=one_node is True,
        crosses=one_node is False,
        link_known=rate is not None,
        share=share,
        is_whole=bool(one["is_whole"]),
    )
    return {
        **{name: one[name] for name in ("rank", "name", "group", "bytes")},
        "ranks": size,
        "count": len(took),
        "sum_ns": int(took.sum()),
        "transfer_ns": median,
        "algorithm_bandwidth": algorithm,
        "bus_bandwidth": bus,
        "link": rate and rate.name,
        "link_bytes_per_s": rate and rate.bytes_per_s,
        "link_source": rate and rate.source,
        "share": share,
        "spread": _spread(took) if moved is not None else None,
        "is_least": not one["is_whole"],
        "evidence": one["evidence"],
        "lacks": " ".join(lacking(facts)) or None,
    }


def _spread(took: "np.ndarray[Any, np.dtype[np.int64]]") -> float | None:
    """Divide the ninth decile by the first one, each a transfer that there was."""
    low, high = np.percentile(took, [10, 90], method="inverted_cdf")
    return float(high / low) if len(took) > 1 and low > 0 else None
