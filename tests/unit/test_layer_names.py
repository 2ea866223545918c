"""Which sequences of kernels count as layers."""

import pandas as pd
import pytest

from tracegraph.queries.shapes.parallel.layer_names import BY_PATTERN, find_layers


def pieces(*names: str) -> pd.DataFrame:
    """Kernels in the order of their launches, outside of all modules and annotations."""
    what = ["communication" if name == "nccl" else "computation" for name in names]
    return pd.DataFrame({"what": what, "name": list(names), "around": None})


def test_a_sequence_that_computes_and_communicates_is_a_layer() -> None:
    layers = find_layers(pieces(*("gemm", "nccl") * 4), "forward")
    assert layers is not None
    assert layers.told_by == BY_PATTERN
    assert layers.number.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize("names", [("nccl",) * 8, ("gemm",) * 8])
def test_messages_that_follow_each_other_are_no_layers_nor_is_computing_alone(names: tuple[str, ...]) -> None:
    assert find_layers(pieces(*names), "forward") is None
