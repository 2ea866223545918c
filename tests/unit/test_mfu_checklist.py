"""The checklist of a low MFU: each share by hand, and what is said where it cannot be told."""

from typing import Any

import pandas as pd
import pytest
from module_rows import rows_of

from tracegraph.queries.catalog import find
from tracegraph.queries.module import in_types
from tracegraph.queries.shapes.peak import checks
from tracegraph.queries.shapes.peak.checklist import mfu_checklist
from tracegraph.vocabulary.kernel_types import ON_TENSOR_CORES, PLAIN_FLOAT32

WINDOW = {
    "run": "r",
    "start_ns": 0,
    "end_ns": 1000,
    "rank": None,
    "device": "NVIDIA A100-SXM4-80GB",
    "peak": None,
}
GEMM = {"name": "ampere_sgemm_128x64_tn", "work": "matrix product", "dtype": "float32"}
HALF = {"name": "ampere_fp16_s16816gemm_fp16_128x128_tn", "work": "matrix product", "dtype": "float16"}
ADD = {"name": "vectorized_elementwise_kernel", "work": "elementwise", "dtype": "float32"}
LARGE, TINY = 10**12, 10**6  # FLOPs; at 312 TFLOP/s 3.2 ms and 3.2 ns


def asked(
    *computing: dict[str, Any],
    work: tuple[tuple[str, int, int], ...] = (("computation", 0, 1000),),
    idle: tuple[dict[str, Any], ...] = (),
    calls: tuple[dict[str, Any], ...] = (),
    ranks: int = 1,
    **values: Any,
) -> pd.DataFrame:
    """The checks by their names, for kernels, stretches of GPU work, causes of idle time, and products."""
    stretches = ({"device": 0, "what": what, "begin_ns": [b], "end_ns": [e]} for what, b, e in work)
    found = mfu_checklist(
        {**WINDOW, **values},
        rows_of("gpu_stretches", *stretches),
        rows_of("idle_stretches", *idle),
        rows_of("product_calls", *calls),
        rows_of("steps"),
        rows_of("traces", *({"rank": rank, "devices": "[]"} for rank in range(ranks))),
        rows_of("computing_work", *computing),
    )
    return in_types(found, find("mfu_checklist").columns).set_index("check")


def test_what_kernels_compute_is_shared_by_their_time() -> None:
    found = asked(
        {**GEMM, "flops": LARGE, "bytes": 10, "gpu_ns": 30},
        {**HALF, "flops": LARGE, "bytes": 10, "gpu_ns": 40},
        {**HALF, "flops": TINY, "bytes": 10, "gpu_ns": 10},
        {**ADD, "flops": 10, "bytes": 120, "gpu_ns": 20},
    )
    assert found.loc["tensor cores", ["value", "state"]].tolist() == [0.5, "ok"]
    assert found.loc["float32 products", ["value", "state"]].tolist() == [0.3, "failed"]
    assert found.loc["small products", "value"] == 10 / 80
    assert found.loc["memory-bound work", ["value", "state"]].tolist() == [0.2, "ok"]
    assert found["advice"].notna().eq(found["state"].eq("failed")).all()
    assert found["what"].ne("").all()
    assert list(found.index) == [check.name for check in checks.CHECKS]


@pytest.mark.parametrize(
    ("name", "device", "computing", "says"),
    [
        (
            "float32 products",
            "NVIDIA A100-SXM4-80GB",
            {**ADD, "work": None, "dtype": None},
            "record_shapes=True",
        ),
        ("small products", "NVIDIA A100-SXM4-80GB", {**GEMM, "flops": None}, "record_shapes=True"),
        ("memory-bound work", "NVIDIA A100-SXM4-80GB", {**ADD, "flops": None}, "record_shapes=True"),
        ("tensor cores", None, GEMM, "give --device"),
        ("tensor cores", "Tesla P100-SXM2-16GB", GEMM, "has no tensor cores"),
        ("small products", None, {**GEMM, "flops": LARGE}, "--peak in TFLOP/s"),
        ("memory-bound work", None, {**ADD, "flops": 1, "bytes": 1}, "give --device"),
        ("recomputation", "NVIDIA A100-SXM4-80GB", GEMM, "record_shapes=True"),
    ],
)
def test_what_cannot_be_told_says_what_to_record(
    name: str, device: str | None, computing: dict[str, Any], says: str
) -> None:
    row = asked({**computing, "gpu_ns": 5}, device=device).loc[name]
    assert row["state"] == "not judged"
    assert pd.isna(row["value"])
    assert says in row["note"]


def test_names_of_kernels_tell_float32_products_without_operators() -> None:
    of_none = {"work": None, "dtype": None}
    row = asked({**GEMM, **of_none, "gpu_ns": 30}, {**ADD, **of_none, "gpu_ns": 70}).loc["float32 products"]
    assert row[["value", "state"]].tolist() == [0.3, "failed"]
    assert row["note"].startswith("By the names of kernels")


@pytest.mark.parametrize(
    ("device", "has_tf32"),
    [("Tesla V100-SXM2-16GB", False), ("NVIDIA A100-SXM4-80GB", True), ("AMD Instinct MI250X", False)],
)
def test_advice_names_tf32_only_where_a_device_has_it(device: str, has_tf32: bool) -> None:
    found = asked({**GEMM, "gpu_ns": 5}, device=device)
    float32 = found.loc["float32 products", "advice"]
    assert ("the fixes tf32" in float32) is has_tf32
    assert ("TF32" in found.loc["tensor cores", "advice"]) is has_tf32


def test_kernels_may_use_tensor_cores_unnamed() -> None:
    assert "Triton" in asked({**GEMM, "gpu_ns": 5}).loc["tensor cores", "note"]


def test_a_part_of_the_work_makes_the_share_a_least_value() -> None:
    known, unknown = ({**ADD, "gpu_ns": 50, "flops": one, "bytes": one} for one in (8, None))
    row = asked(known, unknown).loc["memory-bound work"]
    assert row["value"] == 0.5
    assert row["note"].startswith("At least")


def test_products_that_run_once_more_count_by_their_flops() -> None:
    of = {"name": "aten::mm", "shapes": "[[2]]", "dtype": "float16", "begin_ns": [0]}
    calls = ({**of, "flops": [30]}, {**of, "flops": [10], "backward": True, "numbered": True})
    row = asked(calls=calls).loc["recomputation"]
    assert row[["value", "state"]].tolist() == [0.25, "failed"]


def test_idle_time_of_unknown_cause_leaves_its_checks_open() -> None:
    cause = {"cause_rank": 0, "category": "gap", "loads": False, "evidence": "recorded"}
    launch = {**cause, "cause": "launch latency", "begin_ns": [900], "end_ns": [940]}
    silent = {**cause, "cause": "untraced CPU time", "begin_ns": [940], "end_ns": [1000]}
    found = asked(work=(("computation", 0, 900),), idle=(launch, silent))
    assert found.loc["launching", "state"] == "not judged"
    assert "not in the file" in found.loc["launching", "note"]
    found = asked(work=(("computation", 0, 960),), idle=({**launch, "begin_ns": [960], "end_ns": [1000]},))
    assert found.loc["launching", ["value", "state"]].tolist() == [0.04, "ok"]


def test_waits_in_communication_need_all_ranks() -> None:
    talk = (("communication", 0, 200), ("wait", 0, 60), ("computation", 200, 1000))
    alone, both = (asked(work=talk, ranks=ranks) for ranks in (1, 2))
    assert alone.loc["exposed wait for ranks", "state"] == "not judged"
    assert both.loc["exposed wait for ranks", ["value", "state"]].tolist() == [0.06, "failed"]
    assert both.loc["exposed transfer", ["value", "state"]].tolist() == [0.14, "failed"]


def test_without_gpu_work_there_are_no_checks() -> None:
    assert asked(work=()).empty


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("ampere_sgemm_128x64_tn", False),
        ("volta_sgemm_32x128_nn", False),
        ("cutlass_80_simt_sgemm_128x64", False),
        ("fmha_cutlassF_f32_aligned_64x64_rf_sm80", False),
        ("linear_relu_square_kernel", False),
        ("ampere_fp16_s16816gemm_fp16_128x128", True),
        ("cutlass_80_tensorop_f16_s16816gemm_relu_f16", True),
        ("nvjet_tst_256x128_64x4_1x2_h_bz_coopA_NNT", True),
        ("void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64>>", True),
        ("Cijk_Alik_Bljk_B_BS_BH_Bias_HA_S_SAV_UserArgs_MT256x128x64_MI16x16x1_SN", True),
        ("SubTensorOpWithScalar1d", False),
        ("void cutlass::device_kernel<flash::FlashAttnBwdPreprocess<cute::tuple<cute::C<64>>>>", False),
        ("void cutlass::device_kernel<flash::FlashAttnBwdPostprocessConvertdQ<cute::C<64>>>", False),
        ("void pytorch_flash::flash_bwd_dot_do_o_kernel<true, Flash_bwd_kernel_traits<64>>", False),
        ("void pytorch_flash::flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits<64>>", False),
        ("void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnBwdSm90<2>>>", True),
        ("_ZN2ck16tensor_operation6device12_GLOBAL__N_139kernel_grouped_conv_fwd_xdl_cshuffle_v3", True),
    ],
)
def test_names_of_kernels_tell_tensor_cores(name: str, says: bool) -> None:
    assert (ON_TENSOR_CORES.search(name) is not None) is says


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("ampere_sgemm_32x32_sliced1x4_tn", True),
        ("ampere_gcgemm_64x64_nt", True),
        ("void implicit_convolve_sgemm<float, float, 128, 5, 5>", True),
        ("void cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>", True),
        ("void cudnn::cnn::wgrad_alg0_engine<float, 128, 6, 7, 3, 3, 5, false, 512>", True),
        ("void cudnn::cnn::wgrad_alg0_engine<__half, 512, 6, 5, 3, 3, 3, true, 512>", False),
        ("ampere_fp16_s16816gemm_fp16_128x128", False),
        ("void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 128, true, 1>", False),
    ],
)
def test_names_of_kernels_tell_plain_float32(name: str, says: bool) -> None:
    assert (PLAIN_FLOAT32.search(name) is not None) is says
