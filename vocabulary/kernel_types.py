"""The vocabulary of kernels: communication, memory or computation, recognised by their names.

A kernel has the type of the first spelling that its name matches; one that matches none is computation.
Copies and memsets are memory whatever their name. A user's own spellings come before these.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tracegraph.base.errors import InputError
from tracegraph.vocabulary.categories import Role, find_category
from tracegraph.vocabulary.operation_types import COMMUNICATION_NAMES

COMPUTATION, COMMUNICATION, MEMORY = "computation", "communication", "memory"
KERNEL_TYPES = (COMPUTATION, COMMUNICATION, MEMORY)
"""All types, in the order in which overlapping types are named."""


HOST_WAIT, KERNEL_WAIT, OTHER_WAIT = "host_wait", "kernel_wait", "other"
IDLE_CATEGORIES = (HOST_WAIT, KERNEL_WAIT, OTHER_WAIT)
"""Why a stream is idle, as HTA puts it.

In order: the next work was not launched yet, it was launched and began soon, or neither.
"""
OTHERS = "others"
"""Stands for the names that are not listed."""

ON_TENSOR_CORES = re.compile(
    r"^(?!.*(simt|ffma|cutlass[FB]_f32))"
    r"(?!(?=.*(fmha|flash)).*(preprocess|postprocess|dot_do_o|convert_d|combine))"
    r"(.*([hsi](884|1688|8816|16816|16832)|(?<!sub)tensorop|tensor\d+x|[hiwg]mma|xmma|xdl|(?<![a-z])nvjet|fmha|flash(_|::|Attn)|GemmUniversal)"
    r"|Cijk_.*_MI\d+x\d+|igemm_.*_gtcx)",
    re.IGNORECASE | re.DOTALL,
)
"""Names of kernels on tensor or matrix cores: of cuBLAS, cuDNN, CUTLASS, FlashAttention; Tensile, MIOpen, CK.

Libraries name the instruction, as `s16816`, `hmma` and `xdl`. A kernel of another library may use them
unnamed. What FlashAttention runs before and after its products does not, nor does MIOpen's SubTensorOp.
"""
PLAIN_FLOAT32 = re.compile(
    r"(?<![a-z0-9])(sgemm|g?cgemm|scudnn)|simt_sgemm|convolve_sgemm|ffma|(dgrad|wgrad_alg\d)(2d)?_engine<float,",
    re.IGNORECASE,
)
"""Names of products in float32 on plain units: of cuBLAS, cuDNN and CUTLASS."""


@dataclass(frozen=True)
class Spelling:
    """How a library names kernels of a type: a regular expression that is searched for in the name."""

    kernel_type: str
    pattern: str
    library: str


SPELLINGS = (
    Spelling(COMPUTATION, r"^triton_[a-z]+_fused_", "Inductor, which names a kernel after all that it fuses"),
    Spelling(COMMUNICATION, r"^(void )?(nccl|rccl)|nccl(Dev)?Kernel|ncclSymk", "NCCL, RCCL"),
    Spelling(COMMUNICATION, r"mscclKernel|mscclpp", "MSCCL, MSCCL++"),
    Spelling(COMMUNICATION, r"\b(?i:oneccl)|\boneapi::ccl|\bccl_kernel|\bccl::", "oneCCL"),
    Spelling(COMMUNICATION, r"^(?i:hccl|hcom|xccl|cncl|mccl)_?", "HCCL and others' collective libraries"),
    Spelling(COMMUNICATION, r"^(gloo|mpi|ucc):", "gloo, MPI, UCC"),
    Spelling(COMMUNICATION, r"nvshmem|rocshmem|roc_shmem|ishmem", "NVSHMEM, rocSHMEM"),
    Spelling(COMMUNICATION, r"(?<![a-z])deep_ep(?![a-z])|\bdpsk::ep|\bpplx_|\bmori::", "DeepEP, pplx, MoRI"),
    Spelling(COMMUNICATION, r"userbuffers_", "Transformer Engine, Megatron (userbuffers)"),
    Spelling(COMMUNICATION, r"cross_device_reduce|quickreduce|quick_reduce", "vLLM, SGLang, AITER"),
    Spelling(
        COMMUNICATION, r"(?i:(one|two)_?shot_?all_?reduce)|allreduce_fusion|moe_all_?to_?all", "TensorRT-LLM"
    ),
    Spelling(
        COMMUNICATION,
        r"(one|two)_shot_all_?reduce|multimem_|all_to_all_vdev|(put|wait)_signal_kernel",
        "PyTorch symmetric memory, FBGEMM (TorchRec)",
    ),
    Spelling(
        COMMUNICATION,
        r"(?i)(?<![a-z])(all_?reduce|all_?gather|reduce_?scatter|all_?to_?all)(?![a-z])",
        "custom collectives (DeepSpeed, Megatron, Triton)",
    ),
    Spelling(
        COMMUNICATION,
        r"(AllReduce|AllGather|ReduceScatter|All(To|2)All)(?![a-z])",
        "custom collectives whose words are capitalised",
    ),
    Spelling(COMMUNICATION, rf"^({'|'.join(sorted(COMMUNICATION_NAMES))})$", "operation logs"),
    Spelling(MEMORY, r"^(hip)?Mem(cpy|set)|^Copy(Device|Host)To|^FillBuffer", "copies by name"),
    Spelling(MEMORY, r"__amd_rocclr_(copy|fill|stream)", "ROCm's copies that run as kernels"),
)
"""Spellings of all types; the first that matches decides."""


def kernel_type(name: str, category: str, own: Sequence[Spelling] = ()) -> str | None:
    """Find the type of a GPU activity by its name and category; None for what is not work of a GPU."""
    role = find_category(category).role
    if role in (Role.COPY, Role.MEMSET):
        return MEMORY
    if role is not Role.KERNEL:
        return None
    fits = (one.kernel_type for one in (*own, *SPELLINGS) if _compiled(one.pattern).search(name))
    return next(fits, COMPUTATION)


def copy_kind(name: str) -> str:
    """Return what a copy or memset does, such as `Memcpy HtoD`: its name without the kinds of memory."""
    return name.split(" (", 1)[0]


def read_spellings(file: Path) -> tuple[Spelling, ...]:
    """Read a user's own spellings from a text file.

    Each line holds a type, blanks and a regular expression; `#` begins a comment line.

    Raises
    ------
    InputError
        The file cannot be read, or a line does not name a type or hold a regular expression.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read: {error}", "name a text file") from None
    told = ((number, line.split(maxsplit=1)) for number, line in enumerate(lines, 1))
    return tuple(_spelling(file, at, words) for at, words in told if words and words[0][0] != "#")


def _spelling(file: Path, line: int, words: Sequence[str]) -> Spelling:
    if len(words) < 2 or words[0] not in KERNEL_TYPES:
        raise InputError(
            f"{file}, line {line}: {' '.join(words)[:80]!r} is no type and expression",
            f"write one of {', '.join(KERNEL_TYPES)}, then a regular expression for names",
        )
    pattern = words[1].strip()
    try:
        _compiled(pattern)
    except re.error as error:
        raise InputError(
            f"{file}, line {line}: {pattern[:80]!r} is no regular expression: {error}",
            "write one in the syntax of Python's re",
        ) from None
    return Spelling(words[0], pattern, str(file))


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
