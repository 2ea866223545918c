"""The meaning of hardware counters: which count FLOPs, and which count bytes that left the chip.

Names of NVIDIA's metrics are those of CUPTI and Nsight Compute. A metric that is not listed here is kept
with its value all the same.
"""

from dataclasses import dataclass

_SASS = "smsp__sass_thread_inst_executed_op_"
_ROOFLINE = "Nsight Compute, sections SpeedOfLight_RooflineChart and SpeedOfLight_HierarchicalRooflineChart"
_TENSOR = "Nsight Compute metrics reference: operations of the tensor pipe"
_DRAM = "Nsight Compute metrics reference: device memory"


@dataclass(frozen=True)
class CounterMeaning:
    """What one count of a counter stands for.

    `flops` and `bytes` are the number of them in one count, None if the counter does not count them. `dtype`
    is the type of the FLOPs, `source` the document that says so.
    """

    name: str
    flops: float | None
    bytes: float | None
    dtype: str
    source: str


def _threads(letter: str, dtype: str) -> tuple[CounterMeaning, ...]:
    each = {"add": 1.0, "mul": 1.0, "fma": 2.0}
    return tuple(
        CounterMeaning(f"{_SASS}{letter}{operation}_pred_on.sum", flops, None, dtype, _ROOFLINE)
        for operation, flops in each.items()
    )


COUNTERS = (
    *_threads("f", "float32"),
    *_threads("d", "float64"),
    # Two operations of a packed instruction count as one, and compilers also use it to load constants.
    *_threads("h", "float16"),
    CounterMeaning("sm__ops_path_tensor_src_fp16_dst_fp16.sum", 1.0, None, "float16", _TENSOR),
    CounterMeaning("sm__ops_path_tensor_src_fp16_dst_fp32.sum", 1.0, None, "float16", _TENSOR),
    CounterMeaning("sm__ops_path_tensor_src_bf16_dst_fp32.sum", 1.0, None, "bfloat16", _TENSOR),
    CounterMeaning("sm__ops_path_tensor_src_tf32_dst_fp32.sum", 1.0, None, "tf32", _TENSOR),
    CounterMeaning("sm__ops_path_tensor_src_fp8_dst_fp32.sum", 1.0, None, "float8", _TENSOR),
    CounterMeaning("sm__ops_path_tensor_src_fp64.sum", 1.0, None, "float64", _TENSOR),
    CounterMeaning("dram__bytes_read.sum", None, 1.0, "", _DRAM),
    CounterMeaning("dram__bytes_write.sum", None, 1.0, "", _DRAM),
    CounterMeaning("dram__sectors_read.sum", None, 32.0, "", _DRAM),
    CounterMeaning("dram__sectors_write.sum", None, 32.0, "", _DRAM),
)
"""Counters that a roofline can use. `dram__bytes.sum` is absent: it is the sum of reads and writes."""
_MEANING = {one.name: one for one in COUNTERS}


def find_meaning(name: str) -> CounterMeaning | None:
    """Find what the counter of that name counts; None if it counts neither FLOPs nor bytes."""
    return _MEANING.get(name)
