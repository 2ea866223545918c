"""Names that differ from one process to the next, and names that only look so."""

import pytest

from tracegraph.vocabulary.canonical_names import common_name

COMPILED = "## Call CompiledFxGraph {} ##"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            COMPILED.format("f5w7lf5mgif3wsod3kkxcc3iksbyxa2r2dtn3acceoetxmgvhrbg"),
            COMPILED.format("fvkffui3rcvbqqgl2rdkypkw6l6i6tcyfe3yruwwqutpwu6n6kpl"),
        ),
        ("load 0cc175b9c0f1b6a831c399e269772661", "load 92eb5ffee6ae2fec3ad71c777531578f"),
        (
            "<built-in method to of Tensor object at 0x7f01>",
            "<built-in method to of Tensor object at 0x7f02>",
        ),
    ],
)
def test_a_process_calls_it_something_else(one: str, other: str) -> None:
    assert common_name(one) == common_name(other)


@pytest.mark.parametrize(
    "name",
    [
        "aten::mm",
        "triton_poi_fused__unsafe_view_add_clone_copy_native_layer_norm_backward_threshold_backward_0",
        "forward of averyveryverylongnamewithoutanydigitsinit",
        "step 20231114",
        "cat at 0",
    ],
)
def test_every_process_calls_it_so(name: str) -> None:
    assert common_name(name) == name
