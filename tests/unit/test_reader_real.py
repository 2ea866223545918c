"""Real files: each Kineto file loads, and what it holds agrees with a plain decode of its text."""

import gzip
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tracegraph.base.errors import InputError
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.readers import read_trace
from tracegraph.ingest.trace import EVENT_SCHEMA

Find = Callable[[str], Path]

WHOLE = [
    "a1_megatron_tp8_a100_8rank/rank3.json.gz",
    "a2_megatron_tp2_v100_2rank/rank1.pt.trace.json",
    "a3_torchrec_sst_v100_4rank/rank2.pt.trace.json.gz",
    "a4_nanogpt_h100_rank0_of_8.json.gz",
    "a5_hta_nccl217_a100_rank0_of_2.json.gz",
    "a6_torchao_ep_moe_b200_rank0_of_2.json.gz",
    "b1_hta_alexnet_cuda_sync.json.gz",
    "b2_hta_cuda_event_sync.json.gz",
    "d1_kineto_resnet50_v100_nw4.pt.trace.json.gz",
    "e1_ddp_resnet18_mi300_pystack.json.gz",
    "e2_hta_cpu_only_rank34_of_300.pt.trace.json.gz",
    "h1_qwen_mi300.json.gz",
    "h2_hta_mi250_minitoy_train.json.gz",
    "i2_vllm_decode_mi300_graph_exec.json.gz",
    "j1_hta_uint64_arg.json.gz",
    "j2_hta_rank_non_gpu.json.gz",
    "j3_hta_no_distributedinfo.json.gz",
    "j4_hta_gpu_fragment_rank1.json.gz",
    "k1_hta_cupti_counters.json.gz",
    "torch_cpu/gpt_10k.json.gz",
]


@pytest.mark.parametrize("name", WHOLE)
def test_every_duration_of_a_whole_file_is_an_event(shared_trace: Find, name: str) -> None:
    path = shared_trace(name)
    integrity = Integrity(name)
    trace = read_trace(path, integrity)
    document = _plain(path)
    stated = [
        (index, event["name"], int(event["ts"] * 1000), str(event["pid"]), str(event["tid"]))
        for index, event in enumerate(document["traceEvents"])
        if event["ph"] == "X" and event["cat"] != "Trace"
    ]
    columns = ("source_index", "name", "start_ns", "pid", "tid")
    assert list(zip(*(trace.events[c].to_pylist() for c in columns), strict=True)) == stated
    assert trace.events.schema == EVENT_SCHEMA
    assert trace.rank == document.get("distributedInfo", {}).get("rank", 0)
    assert "error" not in {finding.level for finding in integrity}


@pytest.mark.parametrize(
    ("name", "events", "codes"),
    [
        ("trunc_gzip.json.gz", 606, {"gzip_damaged", "event_broken", "json_cut"}),
        ("trunc_json.json", 659, {"event_broken", "json_cut"}),
        ("unescaped_quotes.json", 866, {"event_broken"}),
        ("missing_args_dur_tid.json", 844, {"duration_missing", "thread_missing", "stream_from_tid"}),
        ("nan_inf_null_times.json", 864, {"number_not_finite", "duration_missing", "start_missing"}),
        ("no_cuda_sync.json", 826, set()),
    ],
)
def test_damaged_files_load_and_say_so(shared_trace: Find, name: str, events: int, codes: set[str]) -> None:
    integrity = Integrity(name)
    trace = read_trace(shared_trace(f"derived/{name}"), integrity)
    assert trace.events.num_rows == events
    assert {finding.code for finding in integrity if finding.level != "info"} == codes
    # what is kept equals the same entries of the undamaged file
    whole = read_trace(shared_trace("b1_hta_alexnet_cuda_sync.json.gz"), Integrity("b1")).events
    if name != "no_cuda_sync.json":
        known = dict(zip(whole["source_index"].to_pylist(), whole["start_ns"].to_pylist(), strict=True))
        for index, start in zip(
            *(trace.events[c].to_pylist() for c in ("source_index", "start_ns")), strict=True
        ):
            assert known[index] == start


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("derived/empty_events.json", "holds no event with a duration"),
        ("derived/zero_bytes.json", "is empty"),
        ("d2_param_resnet_2080ti_et.json.gz", "execution trace"),
        ("k2_torch_memory_snapshot_train.pickle.gz", "pickle"),
        ("g1_nccl_2.29_4gpu_coll.log", "holds no list traceEvents"),
    ],
)
def test_files_that_are_no_trace_end_in_one_line(shared_trace: Find, name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_trace(shared_trace(name), Integrity(name))


def _plain(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    return json.loads(gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data, parse_float=Decimal)
