"""Links: their rates, which of them joins a group, bus bandwidth against a ring that is counted, gaps."""

import json
import re
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from module_rows import rows_of

from tracegraph.base.errors import InputError
from tracegraph.queries.catalog import find
from tracegraph.queries.module import in_types
from tracegraph.queries.shapes.links.known_links import LINKS, find_link
from tracegraph.queries.shapes.links.link_use import in_one_node, link_use, stated_link

H100 = "NVIDIA H100 80GB HBM3"
NAMES = {
    "Tesla P100-SXM2-16GB": 80,
    "Tesla V100-SXM2-32GB": 150,
    "NVIDIA A100-SXM4-80GB": 300,
    H100: 450,
    "NVIDIA H200": 450,
    "NVIDIA B200": 900,
    "AMD Instinct MI300X": 448,
    "Tesla T4": 15.754,
    "NVIDIA L40S": 31.508,
}
EIGHT = {"size": 8, "ranks": json.dumps(list(range(8)))}
ROW = {"rank": 0, "name": "all_reduce", "bytes": 8 * 10**9, **EIGHT, "transfer_ns": [10**9]}


def row(*devices: str, limit: int = 100, link: str | None = None, **changed: object) -> dict[str, Any]:
    """The first row for these operations on a rank with these devices."""
    files = [{"rank": 0, "devices": json.dumps(devices or [H100] * 8), "versions": "{}"}]
    transfers = rows_of("transfers", {**ROW, **changed})
    found = link_use({"link": link, "device": None, "limit": limit}, transfers, rows_of("traces", *files))
    return in_types(found, find("link_use").columns).to_dict("records")[0]


@pytest.mark.parametrize("name", NAMES)
def test_known_names(name: str) -> None:
    link = find_link(name)
    assert link is not None
    assert link.bytes_per_s / 1e9 == pytest.approx(NAMES[name])


@pytest.mark.parametrize(
    "name",
    [None, "", "NVIDIA H100 PCIe", "NVIDIA H100 NVL", "NVIDIA H200 NVL", "NVIDIA A100-PCIE-40GB", "A100"],
)
def test_where_a_bridge_may_be_or_not_no_link_is_guessed(name: str | None) -> None:
    assert find_link(name) is None


@pytest.mark.parametrize("link", LINKS, ids=lambda one: one.name)
def test_a_rate_is_one_direction_of_what_its_source_says(link: Any) -> None:
    if both := re.search(r"([\d,]+) GB/s both ways", link.source):
        links = int(found[1]) if (found := re.search(r"(\d) links of", link.source)) else 1
        expected = links * float(both[1].replace(",", "")) / 2
    elif lanes := re.search(r"(\d+) GT/s a lane", link.source):
        expected = int(lanes[1]) * 16 * 128 / 130 / 8
    else:
        port = re.search(r"(\d+) Gbit/s", link.source)
        assert port is not None
        expected = int(port[1]) / 8
    assert link.bytes_per_s / 1e9 == pytest.approx(expected, abs=5e-4)
    assert re.search(r"\b20[12]\d\b", link.source)


def test_a_user_names_a_link_or_its_rate() -> None:
    by_name, by_rate = stated_link(" ndr"), stated_link("46.5")
    assert by_name is not None
    assert by_rate is not None
    assert (by_name.name, by_name.bytes_per_s) == ("NDR", 50e9)
    assert (by_rate.bytes_per_s, by_rate.source) == (46.5e9, "stated")
    for wrong in ("fast", "0", "-3", "nan", "inf"):
        with pytest.raises(InputError, match="is not known"):
            stated_link(wrong)


def test_a_group_is_in_one_node_where_its_ranks_are_of_one_block_of_gpus() -> None:
    assert in_one_node("[0, 7]", 2, 8) is True
    assert in_one_node("[7, 8]", 2, 8) is False
    assert in_one_node("[0, 8]", 2, 8) is False
    assert in_one_node(None, 16, 8) is False
    assert in_one_node(None, 8, 8) is None
    assert in_one_node("[0, 1]", 8, 8) is None
    assert in_one_node("[0, 1]", 2, 0) is False


def counted(kind: str, members: int, data: int) -> int:
    """The bytes that the busiest member sends, moved chunk by chunk; `data` is a multiple of `members`."""
    sent, chunk = [0] * members, data // members
    rounds = {"all_reduce": 2, "reduce_scatter": 1, "all_gather": 1}.get(kind)
    if rounds is not None:
        for _ in range(rounds * (members - 1)):
            for member in range(members):  # each hands a chunk to its neighbour in the ring
                sent[member] += chunk
    elif kind == "all_to_all":
        for member in range(members):
            sent[member] += sum(chunk for other in range(members) if other != member)
    else:
        for member in range(members - 1):  # a chain from the root, or to it
            sent[member] += data
    return max(sent)


@given(
    st.sampled_from(["all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast", "reduce"]),
    st.integers(2, 64),
    st.integers(1, 10**6),
    st.integers(1, 10**9),
)
def test_bus_bandwidth_is_what_a_member_sends_by_the_time(kind: str, size: int, chunk: int, ns: int) -> None:
    data = size * chunk
    found = row(name=kind, size=size, bytes=data, transfer_ns=[ns])
    assert found["bus_bandwidth"] == pytest.approx(counted(kind, size, data) / ns * 1e9)
    assert found["algorithm_bandwidth"] == pytest.approx(data / ns * 1e9)


def test_a_share_of_the_link_of_one_node() -> None:
    found = row()
    assert (found["link"], found["share"]) == ("NVLink 4", pytest.approx(14 / 450))
    assert (found["is_least"], found["count"], found["sum_ns"]) == (True, 1, 10**9)
    assert "least values" in found["lacks"]
    whole = row(rank=None, is_whole=True)
    assert (whole["is_least"], whole["lacks"]) == (False, None)


def test_median_and_spread_of_equal_messages() -> None:
    found = row(transfer_ns=list(range(100, 1100, 100)))
    assert (found["transfer_ns"], found["spread"], found["count"]) == (500, 9.0, 10)
    assert pd.isna(row()["spread"])


@pytest.mark.parametrize(
    ("changed", "devices", "sentence"),
    [
        ({"name": None, "bytes": None}, (), "do not say what they do: record with PyTorch 2.2"),
        ({"bytes": None}, (), "the data is unknown: record with PyTorch 2.2"),
        ({"size": None, "ranks": None}, (), "size of the group is not in the file: give the files"),
        ({"size": 16, "ranks": None}, (), "ranks beyond the 8 GPUs that a file lists"),
        ({"size": 2, "ranks": "[0, 1]"}, (H100,), "ranks beyond the 1 GPU that a file lists"),
        ({"size": 1, "ranks": "[0]"}, (), "has one rank, so nothing goes over a link"),
        ({"ranks": None}, (), "does not say which ranks are in the group"),
        ({}, (H100, "Other", *[H100] * 6), "do not name one kind of GPU"),
        ({}, ("NVIDIA H100 PCIe",) * 8, "joins GPUs named NVIDIA H100 PCIe is not known here: give --link"),
        ({"bytes": 8 * 10**12}, (), "More than the link can carry is no measurement"),
    ],
)
def test_what_lacks_is_said_in_a_sentence(changed: dict[str, Any], devices: Any, sentence: str) -> None:
    assert sentence in row(*devices, **changed)["lacks"]


def test_across_nodes_only_what_the_user_says_counts() -> None:
    assert pd.isna(row(size=16, ranks=None)["share"])
    found = row(size=16, ranks=None, link="NDR", bytes=10**9)
    assert (found["link"], found["share"]) == ("NDR", pytest.approx(2 * 15 / 16 / 50))


def test_a_barrier_moves_nothing_and_lacks_nothing() -> None:
    found = row(name="barrier", bytes=None)
    assert pd.isna(found["bus_bandwidth"])
    assert found["lacks"] is None
