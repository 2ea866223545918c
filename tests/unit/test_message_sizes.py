"""Bytes of operations: from what kernels state, from the shapes of what launched them, or unknown."""

from pathlib import Path

import tiny
from tiny import Row, call, event, kernel

from tracegraph.base.progress import silent
from tracegraph.ingest.pipeline import ingest_run
from tracegraph.ingest.ranks.message_sizes import sent_bytes, shaped_bytes, stated_bytes, whole_bytes

F16 = "ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevComm*, unsigned long, ncclWork*)"
OLD = "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)"
GATHER = "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
STATED = {"collective": "_allgather_base", "elements": 1000, "dtype": "BFloat16", "group_size": 8}


def test_elements_by_their_width() -> None:
    assert [stated_bytes(10, dtype) for dtype in ("Float", "BFloat16", "Long", "Byte")] == [40, 20, 80, 10]
    assert stated_bytes(10, "Complex") is None
    assert stated_bytes(None, "Float") is None


def test_shapes_tell_where_the_kernel_says_its_type_and_one_tensor_is_sent() -> None:
    assert shaped_bytes(F16, "c10d::allreduce_", "[[[4,2048,4096]],[],[]]") == 2 * 4 * 2048 * 4096
    assert shaped_bytes(OLD, "c10d::allreduce_", "[[[7]]]") == 28
    assert shaped_bytes(OLD.replace("float", "int32_t"), "c10d::allreduce_", "[[[7]]]") is None
    assert shaped_bytes(GATHER, "c10d::_allgather_base_", "[[8],[1]]") is None
    typed = '[["float","c10::Half"],[[1],[1]],["",""]]'
    assert shaped_bytes(GATHER, "c10d::_allgather_base_", "[[8],[1]]", typed) == 2
    assert shaped_bytes(GATHER, "c10d::_allgather_base_", "[[8],[1]]", '[["float"],null,null]') is None
    assert shaped_bytes(F16, "c10d::allreduce_", "[[[4],[5]]]") is None
    assert shaped_bytes(F16, "aten::add", "[[[4]]]") is None
    assert [
        shaped_bytes(F16, "c10d::allreduce_", text) for text in (None, "", "[", "7", "[]", "[[[-1]]]")
    ] == [None] * 6


def test_the_whole_is_counted_as_nccl_tests_do() -> None:
    assert whole_bytes("all_gather", 100, 8) == 800
    assert whole_bytes("all_reduce", 100, 8) == whole_bytes("all_reduce", 100, None) == 100
    assert whole_bytes("all_gather", 100, None) is None
    assert whole_bytes("barrier", 100, 8) is None


def test_kernels_carry_kind_group_and_bytes_of_their_operation() -> None:
    rows = (
        call("l", 0, 1, 1),
        kernel(GATHER, 2, 9, 1, **STATED, group_ranks="[0, 1, 2, 3, 4, 5, 6, 7]"),
        event("c10d::allreduce_", 10, 20, shapes="[[[512]],[]]"),
        call("l", 11, 12, 2),
        kernel(F16, 13, 19, 2),
        call("l", 21, 22, 3),
        kernel("ncclDevKernel_Generic", 23, 25, 3),
        kernel("gemm", 30, 31, None),
        kernel("Memcpy DtoD", 32, 33, None, category="gpu_memcpy", bytes=64),
    )
    found = tiny.tables(tiny.trace(*rows)).nodes["Event"].to_pylist()
    told = [(one["collective_kind"], one["bytes"], one["group_size"], one["group_ranks"]) for one in found]
    assert told[1] == ("all_gather", 16_000, 8, "[0, 1, 2, 3, 4, 5, 6, 7]")
    assert told[4] == ("all_reduce", 1024, None, None)
    assert told[6:] == [(None, None, None, None), (None, None, None, None), (None, 64, None, None)]


def test_a_run_of_one_file_carries_them_too() -> None:
    path = Path(__file__).parents[2] / "examples" / "traces" / "simulated_gpu.json.gz"
    rows = ingest_run([path], "run", silent)[0].nodes["Event"].to_pylist()
    met = [one for one in rows if one["collective_kind"] is not None]
    assert {(one["collective_kind"], one["bytes"], one["group_size"]) for one in met} == {
        ("all_reduce", 2 * 4_194_304, 1)
    }


def test_a_collective_of_a_cpu_back_end_states_its_tensors() -> None:
    assert sent_bytes("[[6,4]]", '[["float"],[[4,1]],[""]]') == 96
    assert sent_bytes("[[5],[7]]", '[["float","c10::Half"],null,null]') == 34
    assert sent_bytes("[[6,4]]", '[["ComplexFloat"],null,null]') is None
    assert sent_bytes("[[6,4]]", "") is sent_bytes(None, None) is sent_bytes("[]", "") is None


def test_collectives_on_threads_carry_bytes_and_elements_where_shapes_are_recorded() -> None:
    rows = (
        event("c10d::allreduce_", 0, 5, shapes="[[[300]]]", inputs='[["TensorList"],null,null]'),
        gloo("all_reduce", 10, shapes="[[300]]", inputs='[["float"],[[1]],[""]]'),
        gloo("all_gather", 20, shapes="[[6,4]]", inputs='[["float"],null,null]', group_size=2),
        gloo("all_reduce", 30, shapes="[[300]]"),
        event("c10d::allreduce_", 32, 35, shapes="[[[300]]]", inputs='[["TensorList"],null,null]'),
        gloo("all_reduce", 40),
    )
    found = tiny.tables(tiny.trace(*rows)).nodes["Event"].to_pylist()
    told = [(one["bytes"], one["elements"]) for one in found if one["collective_kind"]]
    assert told == [(1200, 300), (192, 24), (None, 300), (None, None)]


def gloo(kind: str, at: float, **stated: object) -> Row:
    return event(f"gloo:{kind}", at, at + 5, category="user_annotation", thread=2, **stated)
