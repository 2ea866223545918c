"""FLOPs and bytes by shapes: the formulas, and whose they are where operators contain each other."""

import json
from collections.abc import Sequence

import numpy as np
import pytest
import tiny
from hypothesis import given
from hypothesis import strategies as st

from tracegraph.ingest.flops.counting import FORMULAS, count_work, with_work
from tracegraph.ingest.flops.operands import broadcast, read_inputs
from tracegraph.ingest.flops.work import Work
from tracegraph.ingest.trace import TraceFile

HALF, FLOAT = "c10::Half", "float"
Dims = Sequence[object]


def work(
    name: str,
    dims: Dims,
    types: Sequence[str],
    scalars: Sequence[str] | None = None,
    strides: Dims | None = None,
) -> Work | None:
    """What the formula of an operator says of a call."""
    inputs = read_inputs(json.dumps(dims), json.dumps([types, strides, scalars]))
    return None if inputs is None else FORMULAS[name](inputs)


CONVOLUTION = ["", "", "", "[2, 2]", "[2, 2]", "[1, 1]", "False", "[0, 0]", "1"]
TRANSPOSED = ["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "True", "[0, 0]", "1"]
BACKWARD = ["", "", "", "[16]", "[2, 2]", "[2, 2]", "[1, 1]", "False", "[0, 0]", "1"]
QUERY, KEY, VALUE, GRADIENT = [2, 4, 128, 64], [2, 4, 96, 64], [2, 4, 96, 32], [2, 4, 128, 32]


@pytest.mark.parametrize(
    ("name", "dims", "scalars", "flops"),
    [
        # As torch.utils.flop_counter.FlopCounterMode of torch 2.15 counts the same calls.
        ("aten::mm", [[2, 64], [64, 10]], ["", ""], 2560),
        ("aten::addmm", [[64], [2, 2048], [2048, 64], [], []], ["", "", "", "1", "1"], 524288),
        ("aten::baddbmm", [[4, 6, 5], [4, 6, 8], [4, 8, 5], [], []], ["", "", "", "1", "1"], 1920),
        ("aten::bmm", [[4, 6, 8], [4, 8, 5]], ["", ""], 1920),
        (
            "aten::convolution",
            [[2, 3, 32, 32], [16, 3, 5, 5], [16], [], [], [], [], [], []],
            CONVOLUTION,
            1228800,
        ),
        (
            "aten::convolution",
            [[2, 32, 18, 18], [32, 8, 4, 4], [8], [], [], [], [], [], []],
            TRANSPOSED,
            5308416,
        ),
        (
            "aten::convolution_backward",
            [[2, 16, 16, 16], [2, 3, 32, 32], [16, 3, 5, 5], *[[]] * 8],
            [*BACKWARD, "[True, True, True]"],
            2457600,
        ),
        (
            "aten::convolution_backward",
            [[2, 16, 16, 16], [2, 3, 32, 32], [16, 3, 5, 5], *[[]] * 8],
            [*BACKWARD, "[False, True, True]"],
            1228800,
        ),
        (
            "aten::_scaled_dot_product_flash_attention",
            [QUERY, KEY, VALUE, [], [], [], []],
            ["", "", "", "0.", "False", "False", ""],
            18874368,
        ),
        (
            "aten::_scaled_dot_product_flash_attention_backward",
            [GRADIENT, QUERY, KEY, VALUE, GRADIENT, [2, 4, 128], *[[]] * 8],
            [*[""] * 11, "False", "", ""],
            50331648,
        ),
        # By hand: torch leaves these out, or counts them otherwise.
        ("aten::mv", [[7, 9], [9]], ["", ""], 126),
        ("aten::linear", [[2, 3, 8], [5, 8], [5]], None, 480),
        ("aten::_grouped_mm", [[12, 8], [3, 8, 5], [3], [], []], ["", "", "", "", ""], 960),
        (
            "aten::_flash_attention_forward",
            [[2, 128, 4, 64], [2, 128, 4, 64], [2, 128, 4, 64], *[[]] * 8],
            ["", "", "", "", "", "128", "128", "0.", "True", "False", "0.125"],
            2 * 2 * 4 * 128 * 128 // 2 * (64 + 64),
        ),
    ],
)
def test_products(name: str, dims: Dims, scalars: Sequence[str] | None, flops: int) -> None:
    found = work(name, dims, [HALF if one else "Scalar" for one in dims], scalars)
    assert found is not None
    assert (found.flops, found.dtype) == (flops, "float16")


@pytest.mark.parametrize(
    ("name", "dims", "types", "scalars", "expected"),
    [
        ("aten::mm", [[2, 3], [3, 4]], [FLOAT, FLOAT], None, (48, (6 + 12 + 8) * 4)),
        ("aten::addmm", [[4], [2, 3], [3, 4]], [FLOAT] * 3, None, (48, (4 + 6 + 12 + 8) * 4)),
        ("aten::add", [[8, 4], [4], []], [HALF, HALF, "Scalar"], None, (32, (32 + 4 + 32) * 2)),
        ("aten::mul", [[8, 4], []], [HALF, "double"], None, (32, 32 * 2 + 8 + 32 * 2)),
        ("aten::add_", [[8], [8], []], ["long int", "long int", "Scalar"], None, (0, 24 * 8)),
        ("aten::lt", [[8], []], [FLOAT, "Scalar"], None, (8, 8 * 4 + 8)),
        ("aten::clamp_min", [[8], [], [8]], [FLOAT, "Int", FLOAT], None, (8, 16 * 4)),
        ("aten::copy_", [[8], [8], []], [FLOAT, HALF, "Scalar"], None, (0, 8 * 2 + 8 * 4)),
        ("aten::fill_", [[8], []], [HALF, "Scalar"], ["", "0"], (0, 16)),
        ("aten::sum", [[4, 8], [], []], [FLOAT, "ScalarList", "Scalar"], ["", "[1]", "False"], (32, 36 * 4)),
        ("aten::sum", [[4, 8], []], [FLOAT, ""], ["", ""], (32, 33 * 4)),
        ("aten::_softmax", [[4, 8], [], []], [HALF, "Scalar", "Scalar"], None, (160, 128)),
        (
            "aten::max_pool2d_with_indices",
            [[1, 2, 8, 8], [], [], [], [], []],
            [FLOAT, *["ScalarList"] * 4, "Scalar"],
            ["", "[3, 3]", "[2, 2]", "[1, 1]", "[1, 1]", "False"],
            (32 * 9, 128 * 4 + 32 * 4 + 32 * 8),
        ),
    ],
)
def test_bytes(
    name: str, dims: Dims, types: Sequence[str], scalars: Sequence[str] | None, expected: tuple[int, int]
) -> None:
    found = work(name, dims, types, scalars)
    assert found is not None
    assert (found.flops, found.moved_bytes) == expected


def test_an_expanded_tensor_is_read_once() -> None:
    found = work("aten::add", [[8, 4], [8, 4]], [FLOAT, FLOAT], None, [[4, 1], [0, 1]])
    assert found is not None
    assert found.moved_bytes == (32 + 4 + 32) * 4


@pytest.mark.parametrize(
    ("name", "dims", "types", "scalars"),
    [
        ("aten::mm", [[2, 3], [4, 5]], [FLOAT, FLOAT], None),
        ("aten::mm", [[2, 3], None], [FLOAT, FLOAT], None),
        ("aten::cudnn_convolution", [[1, 3, 8, 8], [4, 3, 3, 3], *[[]] * 7], [FLOAT] * 2 + ["Int"] * 7, None),
        ("aten::_flash_attention_forward", [[1, 8, 2, 4]] * 3, [HALF] * 3, None),
        # Sequences of several lengths.
        (
            "aten::_flash_attention_forward",
            [[8, 2, 4], [8, 2, 4], [8, 2, 4], [3], [3], *[[]] * 6],
            [HALF] * 3 + ["int"] * 2 + ["Scalar"] * 6,
            ["", "", "", "", "", "4", "4", "0.", "True", "False", ""],
        ),
        ("aten::add", [[3], [4]], [FLOAT, FLOAT], None),
    ],
)
def test_what_was_not_recorded_is_unknown(
    name: str, dims: Dims, types: Sequence[str], scalars: Sequence[str] | None
) -> None:
    assert work(name, dims, types, scalars) is None


def test_without_types_the_flops_are_known_and_the_bytes_are_not() -> None:
    found = work("aten::mm", [[2, 3], [3, 4]], [])
    assert found == Work("matrix product", 48, None, None)


@pytest.mark.parametrize("text", ["", "[", "{}", "null", "[[1e999]]", '[["a"]]', "[[-1]]", "[" * 5000])
def test_hostile_shapes(text: str) -> None:
    inputs = read_inputs(text, text)
    assert inputs is None or all(formula(inputs) is None for formula in FORMULAS.values())


@given(st.lists(st.lists(st.integers(0, 5), max_size=4).map(tuple), min_size=1, max_size=3))
def test_broadcasting_is_numpys(shapes: list[tuple[int, ...]]) -> None:
    try:
        expected: tuple[int, ...] | None = np.broadcast_shapes(*shapes)
    except ValueError:
        expected = None
    assert broadcast(shapes) == expected


# ---- operators in each other ----

_TYPES = json.dumps([[FLOAT, FLOAT, FLOAT], None, None])
MATRIX = {"shapes": "[[4],[2,3],[3,4]]", "inputs": _TYPES}


def counted(*rows: tiny.Row) -> tuple[list[str | None], list[int | None]]:
    """The operator of each kernel, and the FLOPs of each event of a trace of these rows."""
    trace: TraceFile = tiny.trace(*rows)
    found = count_work(tiny.model(*rows), trace.events)
    names = [str(row["name"]) for row in rows]
    kernels = [k for k, row in enumerate(rows) if row["category"] == "kernel"]
    owners = [names[found.operator[k]] if found.operator[k] >= 0 else None for k in kernels]
    return owners, with_work(trace.events, found)["flops"].to_pylist()


def test_the_innermost_operator_counts_once() -> None:
    owners, flops = counted(
        tiny.event("aten::linear", 0, 50, shapes="[[2,3],[4,3],[4]]", inputs=_TYPES),
        tiny.event("aten::addmm", 10, 40, **MATRIX),
        tiny.call("cudaLaunchKernel", 20, 30, 1),
        tiny.kernel("gemm", 60, 90, 1),
    )
    assert owners == ["aten::addmm"]
    assert flops == [None, 48, None, None]


def test_a_kernel_of_an_inner_operator_is_not_the_outer_ones() -> None:
    bias = {"shapes": "[[2,4],[4],[]]", "inputs": _TYPES}
    owners, flops = counted(
        tiny.event("aten::addmm", 0, 100, **MATRIX),
        tiny.call("cudaLaunchKernel", 10, 20, 1),
        tiny.event("aten::contiguous", 25, 45),
        tiny.call("cudaLaunchKernel", 30, 40, 2),
        tiny.event("aten::add_", 50, 90, **bias),
        tiny.call("cudaLaunchKernel", 60, 70, 3),
        tiny.kernel("gemm", 110, 120, 1),
        tiny.kernel("pack", 120, 130, 2),
        tiny.kernel("add", 130, 140, 3),
    )
    assert owners == ["aten::addmm", "aten::addmm", "aten::add_"]
    assert flops == [48, None, None, None, 8, None, None, None, None]


def test_an_operator_without_a_formula_has_its_kernels_and_no_flops() -> None:
    owners, flops = counted(
        tiny.event("mine::op", 0, 50, shapes="[[2,3]]", inputs=_TYPES),
        tiny.call("cudaLaunchKernel", 20, 30, 1),
        tiny.call("cudaLaunchKernel", 55, 60, 2),
        tiny.kernel("k", 60, 90, 1),
        tiny.kernel("alone", 90, 95, 2),
    )
    assert owners == ["mine::op", None]
    assert flops == [None] * 5


def test_an_operator_that_launched_nothing_does_not_count() -> None:
    assert counted(tiny.event("aten::addmm", 0, 50, **MATRIX)) == ([], [None])
