"""What kernels communicate, by the names that libraries give them."""

import pandas as pd
import pytest

from tracegraph.vocabulary.kernel_types import COMMUNICATION, COMPUTATION, kernel_type
from tracegraph.workbench.findings.topics import COMMUNICATION as TOPIC
from tracegraph.workbench.findings.topics import DATA_LOADING, events_of, is_about

COLLECTIVES = (
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)",
    "void aiter::cross_device_reduce_2stage<__hip_bfloat16, 8>(aiter::RankData*)",
    "void sglang::cross_device_reduce_2stage_naive<half, 4>()",
    "void quickreduce::allreduce_prototype_twoshot<>()",
    "mscclKernel_Sum_half_Simple",
    "mscclpp::allreduce7<float>",
    "oneccl_allreduce_small",
    "ONECCL_ring_kernel",
    "hccl_all_reduce",
    "HcclAllReduce",
    "hcom_allReduce__123_0_1",
    "nvshmemi_transfer_rma",
    "void deep_ep::intranode::combine<4>()",
    "_ZN7deep_ep9internode8dispatchILb0EEEvv",
    "void dpsk::ep::dispatch<8>(Params)",
    "oneShotAllReduceKernel<half>",
    "void flashinfer::trtllm_mnnvl::oneshot_allreduce_fusion<>()",
    "two_shot_all_reduce_kernel",
    "multimem_all_reduce_kernel",
    "MyRingAllReduceKernel",
)
COMPUTING = (
    "ampere_bf16_s16816gemm_bf16_128x128",
    "void at::native::reduce_kernel<512, 1>()",
    "triton_per_fused_all_gather_add_0",
    "void cub::DeviceReduceKernel<int>()",
    "void at::native::vectorized_gather_kernel<16>()",
    "void cutlass::device_kernel<scatter_add>()",
    "rms_norm_kernel",
    "void at::native::all_any_kernel()",
)


@pytest.mark.parametrize("name", COLLECTIVES)
def test_kernels_that_communicate(name: str) -> None:
    assert kernel_type(name, "kernel") == COMMUNICATION


@pytest.mark.parametrize("name", COMPUTING)
def test_kernels_that_compute(name: str) -> None:
    assert kernel_type(name, "kernel") == COMPUTATION


def test_a_topic_is_told_by_the_type_on_a_gpu_and_by_the_name_on_a_thread() -> None:
    rows = [
        ("nccl", None, "nccl:all_reduce", 0),
        (None, "communication", "my_ring", 2),
        ("enumerate(DataLoader)", None, "enumerate(DataLoader)#x", 0),
    ]
    asked = pd.DataFrame(rows, columns=["beginning", "kernel_type", "name", "lane"])
    assert events_of(TOPIC, asked)["name"].tolist() == ["nccl:all_reduce", "my_ring"]
    assert events_of(DATA_LOADING, asked)["name"].tolist() == ["enumerate(DataLoader)#x"]


def test_a_name_that_is_not_in_the_window_is_told_by_what_is_built_in() -> None:
    nothing = pd.DataFrame({"name": [], "kernel_type": []})
    row = {"name": "ncclKernel_AllReduce", "category": "kernel"}
    assert is_about(TOPIC, row, nothing, nothing)
    assert not is_about(DATA_LOADING, row, nothing, nothing)
    assert not is_about(TOPIC, {**row, "category": "cpu_op", "name": "aten::mm"}, nothing, nothing)
