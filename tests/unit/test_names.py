"""Names of events: shortened by meaning, distinct where they are shown together, and found again."""

import gzip
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_data import LANES

from tracegraph.base.errors import InputError
from tracegraph.queries.answers import Answers
from tracegraph.workbench.methods.picture import hotspot
from tracegraph.workbench.text.names import match_names, near_names, readable

ADD = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
    "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)"
)
TO_LONG = (
    "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const"
    "::{lambda()#4}::operator()() const::{lambda(long)#1}"
)
COPY = (
    f"void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<{TO_LONG}>"
    f"(at::TensorIteratorBase&, {TO_LONG} const&)::{{lambda(int)#1}}>"
    f"(int, at::native::gpu_kernel_impl_nocast<{TO_LONG}>"
    f"(at::TensorIteratorBase&, {TO_LONG} const&)::{{lambda(int)#1}})"
)
SUM = (
    "at::native::ReduceOp<float, at::native::func_wrapper_t<float, at::native::sum_functor<float, float>"
    "::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, float, 4>"
)
SM90 = (
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_"
    "kernel__5x_cublas"
)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (ADD, "vectorized_elementwise_kernel<CUDAFunctor_add<float>>"),
        (COPY, "elementwise_kernel<direct_copy_kernel_cuda::lambda(long)>"),
        (f"void at::native::reduce_kernel<512, 1, {SUM} >({SUM})", "reduce_kernel<sum_functor<float>>"),
        (
            "void at::native::reduce_kernel<128, 4, at::native::ReduceOp<c10::BFloat16, at::native::MeanOps"
            "<c10::BFloat16, float>, unsigned int, c10::BFloat16, 4> >(int)",
            "reduce_kernel<MeanOps<BFloat16>>",
        ),
        ("at::cuda::(anonymous namespace)::spin_kernel(long)", "spin_kernel"),
        (
            "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, true>(float*, int)",
            "softmax_warp_forward<float>",
        ),
        (
            "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_64x64_32x6_nn_align1>(cutlass_80_tensorop_"
            "s1688gemm_64x64_32x6_nn_align1::Params)",
            "Kernel2<cutlass_80_tensorop_s1688gemm_64x64_32x6_nn_align1>",
        ),
        (
            "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, __nv_bfloat16>(int const*)",
            "kernel<int>",
        ),
        ("void cask_cudnn::computeOffsetsKernel<false, false>(cask_cudnn::Params)", "computeOffsetsKernel"),
        (
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
        ),
        ("void f<int, (g)3>(int*) [clone .kd]", "f<int>"),
        ("bool ns::S<int>::operator()(int) const", "S::operator()<int>"),
        ("bool ns::operator< <int>(ns::S<int> const&, ns::S<int> const&)", "operator<<int>"),
        ("void ns::S::operator->(int)", "operator->"),
        ("void k<ns::run(int)::'lambda'(float)>(int)", "k<run::lambda(float)>"),
        ("<built-in method to of Tensor object at 0x7f0a792bc100>", "built-in to of Tensor"),
        ("<built-in method ones_like of type object at 0x7f033c8cea40>", "built-in ones_like of type"),
        ("<built-in function linear>", "built-in linear"),
        (
            "<built-in method size of pybind11_builtins.pybind11_detail_function_record_v1_system_libstdcpp_"
            "gxx_abi_1xxx_use_cxx11_abi_1 object at 0x7f4f58877130>",
            "built-in size of pybind11",
        ),
        ("<built-in method  of PyCapsule object at 0x7d673b30a700>", "built-in of PyCapsule"),
    ],
)
def test_names_are_shortened_by_meaning(name: str, text: str) -> None:
    assert readable([name]) == {name: text}


@pytest.mark.parametrize(
    "name",
    [
        "",
        "aten::linear",
        "torch/nn/modules/module.py(1501): _call_impl",
        "<eval_with_key>.24(4): forward",
        "<frozen os>(795): decode",
        "Memcpy HtoD (Pageable -> Device)",
        "PyTorch Profiler (0)",
        "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
        "batch(3)",
        "stage<1>",
        "autograd::engine::evaluate_function: torch::autograd::CppNode<Op>",
        "_ZN2at6native12_GLOBAL__N_1L6kernelIfEEvPT_",
        "triton_per_fused__to_copy_linalg_vector_norm_transpose_0",
        "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNN",
        SM90,
        ADD[:100],
        "void f<int>>(int)",
        "void f(int",
        "void f<(int>)",
        "void f<" * 5000 + ">" * 5000 + "()",
    ],
)
def test_what_is_no_whole_cpp_function_stays(name: str) -> None:
    assert readable([name]) == {name: name}


@pytest.mark.parametrize(
    "texts",
    [
        {
            ADD: "vectorized_elementwise_kernel<…, CUDAFunctor_add<float>, …>",
            ADD.replace("CUDAFunctor_add<float>", "FillFunctor<long>"): (
                "vectorized_elementwise_kernel<…, FillFunctor<long>, …>"
            ),
        },
        {
            ADD: "vectorized_elementwise_kernel<…, CUDAFunctor_add<float>, …>",
            ADD.replace(
                "add<float>", "add<long>"
            ): "vectorized_elementwise_kernel<…, CUDAFunctor_add<long>, …>",
        },
        {
            ADD: "vectorized_elementwise_kernel<4, …>",
            ADD.replace("<4", "<2"): "vectorized_elementwise_kernel<2, …>",
        },
        {COPY: "elementwise_kernel<128, …>", COPY.replace("<128", "<512"): "elementwise_kernel<512, …>"},
        {
            COPY: "elementwise_kernel<…, gpu_kernel_impl_nocast<direct_copy_kernel_cuda>>",
            COPY.replace("_nocast", ""): "elementwise_kernel<…, gpu_kernel_impl<direct_copy_kernel_cuda>>",
        },
        {
            COPY: "elementwise_kernel<…, direct_copy_kernel_cuda::lambda#2#4#1>",
            COPY.replace("#4", "#6"): "elementwise_kernel<…, direct_copy_kernel_cuda::lambda#2#6#1>",
        },
        {"void f(int*)": "f(int*)", "void f(float*)": "f(float*)"},
        {"void a::f(int)": "a::f", "void b::f(int)": "b::f"},
        {"void f(int)": "void f(int)", "f": "f"},
        {
            "<built-in method to of Tensor object at 0x7f01>": "built-in to of Tensor #1",
            "<built-in method to of Tensor object at 0x7f02>": "built-in to of Tensor #2",
        },
        {
            f"Cijk_Alik_BBS_BH_Bias_UserArgs_MT32x32x256_MI16x16x1{'_K1' * 60}_NTA{count}_SS1{'_K0' * 9}": (
                f"Cijk_Alik_BBS_BH_Bias_UserArgs_MT32x32x256_MI16x16x1_K1_K1_K1_…_NTA{count}_…"
            )
            for count in (0, 4)
        },
    ],
)
def test_what_differs_is_shown(texts: dict[str, str]) -> None:
    assert readable(texts) == texts
    assert readable(reversed(texts)) == texts


_PIECES = [
    *(
        "void ",
        "at::native::",
        "f",
        "g",
        "<",
        ">",
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        ", ",
        "::",
        " ",
        "*",
        " const",
    ),
    *(
        "int",
        "float",
        "4",
        "{lambda(int)#1}",
        "{lambda()#2}",
        "'lambda'(int)",
        "operator<",
        "operator()",
        "->",
    ),
    *(
        "(anonymous namespace)",
        "gpu_kernel_impl<",
        "BinaryFunctor<",
        " [clone .kd]",
        "…",
        "\0",
        "\x1b",
        "\u202e",
    ),
    *("<built-in method ", " of Tensor object at 0x1", " #1", "_", "x" * 150),
]
_TYPES = st.recursive(
    st.sampled_from(["int", "float*", "4", "true", "a::S", "b::S", "f(int)::{lambda(int)#1}", "S::T"]),
    lambda inner: st.builds(
        lambda name, args: f"{name}<{', '.join(args)} >",
        st.sampled_from(["a::F", "b::F", "G", "gpu_kernel_impl", "BinaryFunctor", "F<int>::H"]),
        st.lists(inner, max_size=3),
    ),
    max_leaves=6,
)
_FUNCTIONS = st.builds(
    lambda scope, args, params: f"void {scope}k<{', '.join(args)}>({', '.join(params)})",
    st.sampled_from(["", "a::", "b::", "(anonymous namespace)::"]),
    st.lists(_TYPES, min_size=1, max_size=3),
    st.lists(_TYPES, max_size=2),
)
_NAMES = st.one_of(
    st.lists(st.sampled_from(_PIECES), max_size=12).map("".join), _FUNCTIONS, st.text(max_size=9)
)


@given(st.lists(_NAMES, max_size=12, unique=True))
def test_distinct_names_stay_distinct(names: list[str]) -> None:
    texts = readable(names)
    assert list(texts) == names
    assert len(set(texts.values())) == len(names)
    assert readable(reversed(names)) == texts
    assert all(len(text) <= len(name) + 8 for name, text in texts.items())
    assert all(text for name, text in texts.items() if name)


@pytest.mark.parametrize(
    "file",
    [
        "a3_torchrec_sst_v100_4rank/rank0.pt.trace.json.gz",
        "a6_torchao_ep_moe_b200_rank0_of_2.json.gz",
        "e1_ddp_resnet18_mi300_pystack.json.gz",
        "h1_qwen_h100.json.gz",
        "h1_qwen_mi300.json.gz",
        "i1_sam_cudagraph_a100.json.gz",
    ],
)
def test_kernels_of_real_files_are_readable(shared_trace: Callable[[str], Path], file: str) -> None:
    document = json.loads(gzip.decompress(shared_trace(file).read_bytes()))
    names = {event["name"] for event in document["traceEvents"] if event.get("cat") == "kernel"}
    texts = readable(names)
    assert len(set(texts.values())) == len(names) > 20
    assert max(len(text) for name, text in texts.items() if "<" in name) <= 110
    assert not [text for text in texts.values() if "at::native" in text or "(anonymous" in text]


NAMES = ["aten::mm", "aten::MM", "ncclDevKernel_AllReduce", "f[0]*", "xaten::mm", "two\nlines"]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("aten::mm", ["aten::mm"]),
        ("f[0]*", ["f[0]*"]),
        ("aten::m*", ["aten::mm"]),
        ("aten::??", ["aten::mm", "aten::MM"]),
        ("f[0]?", ["f[0]*"]),
        ("f[1]*", []),
        ("two*", ["two\nlines"]),
        ("NCCL", ["ncclDevKernel_AllReduce"]),
        ("mm", ["aten::mm", "aten::MM", "xaten::mm"]),
        ("nothing", []),
    ],
)
def test_names_are_found(wanted: str, found: list[str]) -> None:
    assert match_names(NAMES, wanted) == found


def test_near_names() -> None:
    assert near_names(["aten::add", "aten::addmm", "nccl"], "aten::ad") == ["aten::add", "aten::addmm"]
    assert near_names(NAMES, "zzz") == []
    assert near_names(["cudaLaunchKernel", "aten::such", "built-in set of list"], "nosuch") == ["aten::such"]
    assert near_names(["train.py(12): Decode_Batch", "aten::add"], "decode_bacth") == [
        "train.py(12): Decode_Batch"
    ]
    long = "void sort_kernel<" + "int, " * 1000 + ">"
    assert near_names([long, "copy"], "SORT_KERNL") == [long]


_OF_AN_END = ("_lane", "_name", "_category", "_start_ns", "_end_ns")
EDGE = pd.DataFrame(
    [
        (
            "1",
            0,
            "x",
            "cpu_op",
            0,
            5,
            "2",
            0,
            "y",
            "cpu_op",
            5,
            9,
            "SEQUENTIAL",
            "",
            "recorded",
            1.0,
            0,
            0,
            True,
        )
    ],
    columns=[
        *(f"{end}{what}" for end in ("cause", "effect") for what in ("", *_OF_AN_END)),
        *("dependency", "mechanism", "evidence", "confidence", "lag_ns", "gap_ns", "binding"),
    ],
)


def _answers(asked: list[object]) -> Answers:
    """Answers about a run whose path holds ADD for the longest, then COPY and a name without length."""

    def of(name: str, values: Mapping[str, Any]) -> pd.DataFrame:
        if name == "hotspots":
            return pd.DataFrame({"name": [ADD, COPY, ADD]})
        if name == "hotspot_neighbourhood":
            asked.append(values["name"])
            return EDGE if values["name"] in (ADD, COPY, "short") else EDGE.head(0)
        return LANES

    return cast(Answers, SimpleNamespace(of=of))


@pytest.mark.parametrize(
    ("wanted", "drawn", "title"),
    [
        (COPY, COPY, "elementwise_kernel<direct_copy_kernel_cuda::lambda(long)>: causes"),
        (
            "Elementwise",
            ADD,
            "vectorized_elementwise_kernel<CUDAFunctor_add<float>> (1 other name matched): causes",
        ),
        (
            "*gpu_kernel_impl_nocast*",
            COPY,
            "elementwise_kernel<direct_copy_kernel_cuda::lambda(long)>: causes",
        ),
        (
            "elementwise_kernel<direct",
            COPY,
            "elementwise_kernel<direct_copy_kernel_cuda::lambda(long)>: causes",
        ),
        ("short", "short", "short: causes"),
    ],
)
def test_a_hotspot_is_drawn_by_name_glob_or_part(
    wanted: str, drawn: str, title: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "tracegraph.workbench.methods.picture.find_window", lambda *_: SimpleNamespace(start_ns=0)
    )
    asked: list[object] = []
    source = hotspot(_answers(asked), "run", wanted)
    assert asked == [drawn]
    assert title in source.source.replace("&lt;", "<").replace("&gt;", ">")


def test_a_hotspot_that_is_none_names_what_is_near(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "tracegraph.workbench.methods.picture.find_window", lambda *_: SimpleNamespace(start_ns=0)
    )
    with pytest.raises(InputError, match=r"no event named .* near it are: vectorized_elementwise_k"):
        hotspot(_answers([]), "run", "vectorised_elementwise_kernel")
