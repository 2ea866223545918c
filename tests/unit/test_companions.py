"""Logs of NCCL and output of its tests: what real ones hold, and lines of other versions."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tracegraph.base.errors import InputError
from tracegraph.ingest.companions.companion import CompanionFile, Row
from tracegraph.ingest.companions.log_lines import split_log
from tracegraph.ingest.companions.registry import is_companion, open_companion, read_companions

G1, G2 = "g1_nccl_2.29_4gpu_coll.log", "g2_nccl_2.10_megatron_deepspeed_8gpu.log"


def told(*texts: str) -> dict[str, list[Row]]:
    """All rows by label, of files with these texts."""
    files = [CompanionFile(f"{place}.log", "00", text.encode()) for place, text in enumerate(texts)]
    rows: dict[str, list[Row]] = {}
    for one in read_companions(files).values():
        for label, own in one.rows.items():
            rows.setdefault(label, []).extend(own)
    return rows


def line(text: str, process: int = 1, host: str = "node-1") -> str:
    return f"{host}:{process}:{process} [0] NCCL INFO {text}\n"


def test_a_log_of_2_29_with_the_tests_that_wrote_it(shared_trace: Callable[[str], Path]) -> None:
    both = read_companions([open_companion(shared_trace(G1))])
    log, tests = both["NCCL log"], both["nccl-tests"]
    (one,) = log.rows["Communicator"]
    assert (one["comm_id"], one["ranks"], one["nodes"], one["channels"], one["version"]) == (
        "0x5a4c6e5db9b19a5f",
        4,
        1,
        24,
        "2.29.2",
    )
    channels = log.rows["Channel"]
    assert {channel["ring"] for channel in channels} == {"[0, 1, 2, 3]"}
    assert (len(channels), sum(int(str(c["connections"])) for c in channels)) == (24, 96)
    assert {channel["transport"] for channel in channels} == {"P2P/direct pointer"}
    calls = [row for row in log.rows["Transfer"] if row["source"] == "NCCL's choices"]
    assert {(row["kind"], row["algorithm"], row["protocol"]) for row in calls} == {
        ("all_reduce", "ring", "simple")
    }
    assert {row["bytes"]: row["count"] for row in calls} == {2**power: 109 for power in range(28, 34)}
    (ring,) = (
        row
        for row in log.rows["Transfer"]
        if row["source"] == "NCCL's table"
        and (row["kind"], row["algorithm"], row["protocol"]) == ("all_reduce", "ring", "simple")
    )
    assert (ring["latency_ns"], ring["bandwidth"]) == (28_800, 240e9)
    times = {(row["bytes"], row["in_place"]): row["time_ns"] for row in tests.rows["Transfer"]}
    assert (len(times), times[2**28, False], times[2**33, True]) == (12, 1_185_500, 35_322_800)


def test_a_log_of_2_10_has_no_ids_and_no_calls(shared_trace: Callable[[str], Path]) -> None:
    (log,) = read_companions([open_companion(shared_trace(G2))]).values()
    found = log.rows["Communicator"]
    assert Counter(row["ranks"] for row in found) == {8: 2, 1: 24}
    assert {row["evidence"] for row in found} == {"inferred"}
    assert all(row["members"] == row["ranks"] for row in found)
    assert not log.rows["Transfer"]


def test_a_line_behind_an_unfinished_row_is_taken_out_of_it() -> None:
    text = line("one") + "  8  2  float  sum  -1" + line("two") + "   5.0  1.0  1.0  0\n"
    lines, rest = split_log(text)
    assert [one.text for one in lines] == ["one", "two"]
    assert {one.host for one in lines} == {"node-1"}
    assert rest.split() == ["8", "2", "float", "sum", "-1", "5.0", "1.0", "1.0", "0"]


def test_files_of_processes_make_one_communicator() -> None:
    texts = [
        line(f"comm 0x{rank} rank {rank} nranks 2 cudaDev 0 busId 1 commId 0xa - Init COMPLETE", rank, host)
        for rank, host in enumerate(("left", "right"))
    ]
    (one,) = told(*texts)["Communicator"]
    assert (one["ranks"], one["members"], one["nodes"]) == (2, 2, 2)


def test_calls_of_all_ranks_count_the_whole_operation() -> None:
    made = line("comm 0xc rank 0 nranks 4 cudaDev 0 busId 1 commId 0xa - Init COMPLETE")
    call = "opCount 2a sendbuff 0x1 recvbuff 0x2 acc (nil) count 10 datatype 7 op 0 root 0 comm 0xc"
    text = made + "".join(
        line(f"{name}: {call} [nranks=4] stream 0x3") for name in ("AllReduce", "AllGather")
    )
    rows = {row["kind"]: row for row in told(text)["Transfer"]}
    assert (rows["all_reduce"]["bytes"], rows["all_gather"]["bytes"]) == (40, 160)
    assert rows["all_reduce"]["comm_id"] == "0xa"


def test_numbers_of_older_versions_are_names_and_their_table_is_read() -> None:
    text = (
        line("Latency/AlgBw |    Tree/    LL |    Ring/Simple |")
        + line("    AllReduce |    10.4/  43.6 |    28.8/ 240.0 |")
        + line("comm 0xc rank 0 nranks 4 cudaDev 0 busId 1 - Init COMPLETE")
        + line("AllReduce: 1024 Bytes -> Algo 1 proto 2 time 12.5")
    )
    table, ring, choice = told(text)["Transfer"]
    assert (table["algorithm"], table["protocol"], table["latency_ns"]) == ("tree", "ll", 10_400)
    assert (ring["algorithm"], ring["bandwidth"], ring["ranks"]) == ("ring", 240e9, 4)
    assert (choice["algorithm"], choice["protocol"]) == ("ring", "simple")


def test_tests_without_root_and_with_times_that_are_none() -> None:
    text = (
        "#  Rank  0 Pid 1 on a device 0 [0x1] X\n#  Rank  1 Pid 2 on b device 0 [0x1] X\n"
        "#  size  count  type  time  algbw  busbw  error  time  algbw  busbw  error\n"
        "   1024    128 float  12.50 0.08 0.04 0e+00 N/A N/A N/A N/A\n"
    )
    file = CompanionFile("all_gather_perf.txt", "00", text.encode())
    (row,) = read_companions([file])["nccl-tests"].rows["Transfer"]
    assert (row["kind"], row["bytes"], row["time_ns"], row["ranks"], row["nodes"]) == (
        *("all_gather", 1024, 12_500),
        *(2, 2),
    )


def test_what_explains_nothing_is_refused_and_a_trace_is_no_companion(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds nothing that explains a trace"):
        told("nothing")
    (tmp_path / "trace.json").write_text('{"traceEvents": [{"name": "x NCCL INFO y"}]}')
    assert not is_companion(tmp_path / "trace.json")
    (tmp_path / "nccl.log").write_text(line("x"))
    assert is_companion(tmp_path / "nccl.log")
