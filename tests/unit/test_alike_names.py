"""Names that mean the same in two recordings."""

import pandas as pd
import pytest

from tracegraph.queries.shapes.similar_names import matched_names, short_name


@pytest.mark.parametrize(
    ("name", "category", "short"),
    [
        ("void at::native::reduce_kernel<4, f<int> >(int, T<2>)", "kernel", "at::native::reduce_kernel"),
        ("void (anonymous namespace)::softmax<float>(float*)", "kernel", "softmax"),
        ("int f<&A::operator->>(A)", "kernel", "f"),
        ("void k<1>(int) [clone .kd]", "kernel", "k"),
        ("sm90_xmma_gemm", "kernel", "sm90_xmma_gemm"),
        ("<(", "kernel", "<("),
        (")>k<", "kernel", "k"),
        ("Memcpy DtoH (Device -> Pinned)", "gpu_memcpy", "Memcpy DtoH (Device -> Pinned)"),
        ("net.py(12): forward", "python_function", "net.py: forward"),
        (
            "<built-in method mm of type object at 0x7f1a>",
            "python_function",
            "<built-in method mm of type object>",
        ),
        ("cudaLaunchKernel", "cuda_runtime", "LaunchKernel"),
        ("hipLaunchKernel", "cuda_runtime", "LaunchKernel"),
        ("cudart", "cuda_runtime", "cudart"),
        ("aten::f(x)<y>", "cpu_op", "aten::f(x)<y>"),
    ],
)
def test_short_names(name: str, category: str, short: str) -> None:
    assert short_name(name, category) == short


def test_only_what_one_side_lacks_is_matched() -> None:
    """k<3> is on both sides, and what is alike on one side only stays apart."""
    rows = pd.DataFrame(
        [
            ("k<1>", "kernel", 1, 0),
            ("k<2>", "kernel", 0, 1),
            ("k<3>", "kernel", 1, 1),
            ("m<1>", "kernel", 1, 0),
            ("m<2>", "kernel", 1, 0),
            ("a.py(1): f", "python_function", 0, 1),
            ("a.py(9): f", "python_function", 1, 0),
            ("a.py: f", "cpu_op", 1, 0),
        ],
        columns=["name", "category", "count_a", "count_b"],
    )
    named = ["k", "k", "k<3>", "m<1>", "m<2>", "a.py: f", "a.py: f", "a.py: f"]
    assert matched_names(rows, "category").tolist() == named
    assert matched_names(rows.head(0), "category").empty
