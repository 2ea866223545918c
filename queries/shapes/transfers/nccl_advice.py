"""What a log of NCCL gives reason to change: network, channels, algorithm."""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from tracegraph.queries.module import Column
from tracegraph.queries.shapes.derived_query import Values
from tracegraph.queries.shapes.frame_rows import records
from tracegraph.vocabulary.collectives import NCCL_CHOICES, NCCL_TABLE

FEW_CHANNELS = 4
"""A communicator of one node with fewer channels uses few links; a choice: no document names a number."""
SLOWER = 1.1
"""A choice is slower if another takes this many times less by NCCL's table; a choice of ours."""
_NS_PER_S = 1e9
ADVICE_COLUMNS = (
    Column("comm_id", "STRING", True, "the communicator"),
    Column("ranks", "INTEGER", True, "number of its ranks"),
    Column("finding", "STRING", False, "`sockets`, `few channels` or `slower algorithm`"),
    Column("measured", "STRING", False, "what the log says"),
    Column("expected", "STRING", False, "what it is compared with"),
    Column("advice", "STRING", False, "what to look at, and how"),
)
"""Columns of `nccl_advice`."""


def nccl_advice(_: Values, communicators: pd.DataFrame, stated: pd.DataFrame) -> pd.DataFrame:
    """List what a log of NCCL gives reason to change, from `communicators` and `stated_transfers`."""
    own = [one for one in records(communicators) if one["ranks"] > 1]
    rows = [row for one in own for row in (*_network(one), *_channels(one))]
    rows += _algorithms(records(stated))
    return pd.DataFrame(rows, columns=[column.name for column in ADVICE_COLUMNS])


def _network(one: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Sockets between nodes are an order of magnitude slower than InfiniBand."""
    if "socket" not in (one["network"] or "").lower() or (one["nodes"] or 1) < 2:
        return
    if one["infiniband"]:
        why = "NCCL found cards of InfiniBand and yet uses sockets: look at NCCL_NET and NCCL_IB_DISABLE."
    else:
        why = (
            "If the nodes have InfiniBand or RoCE, NCCL did not find it: look at ibstat, at /dev/infiniband "
            "in the container, at NCCL_IB_HCA and NCCL_IB_DISABLE."
        )
    yield _row(one, "sockets", str(one["network"]), f"InfiniBand or RoCE between {one['nodes']} nodes", why)


def _channels(one: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if one["nodes"] == 1 and one["channels"] is not None and one["channels"] < FEW_CHANNELS:
        yield _row(
            one,
            "few channels",
            f"{one['channels']} channels",
            f"{FEW_CHANNELS} or more inside a node",
            "Few channels use few links: look at NCCL_MAX_NCHANNELS and NCCL_MAX_CTAS, and at "
            "`nvidia-smi topo -m` for what joins the GPUs.",
        )


def _algorithms(stated: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Compare each choice with the fastest way of NCCL's table for its kind, size and number of ranks."""
    table = [one for one in stated if one["source"] == NCCL_TABLE]
    for call in (one for one in stated if one["source"] == NCCL_CHOICES):
        ways = {
            (one["algorithm"], one["protocol"]): one["latency_ns"]
            + call["bytes"] / one["bandwidth"] * _NS_PER_S
            for one in table
            if one["kind"] == call["kind"] and one["comm_id"] == call["comm_id"]
        }
        chosen = ways.get((call["algorithm"], call["protocol"]))
        if chosen is None:
            continue
        best = min(ways, key=lambda way: ways[way])
        if chosen > SLOWER * ways[best]:
            yield _row(
                call,
                "slower algorithm",
                f"{call['count']} {call['kind']} of {call['bytes']} B by {call['algorithm']} and "
                f"{call['protocol']}: {round(chosen)} ns by NCCL's table",
                f"{' and '.join(best)}: {round(ways[best])} ns by the same table",
                "Something forces the choice: look at NCCL_ALGO, NCCL_PROTO and tuner plugins.",
            )


def _row(of: dict[str, Any], finding: str, measured: str, expected: str, advice: str) -> dict[str, Any]:
    return {
        "comm_id": of["comm_id"],
        "ranks": of["ranks"],
        "finding": finding,
        "measured": measured,
        "expected": expected,
        "advice": advice,
    }
