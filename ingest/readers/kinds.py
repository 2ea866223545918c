"""Categories: old spellings, and what an entry's category says about its arguments."""

from tracegraph.ingest.trace import GPU_WORK

OLD_SPELLINGS = {
    "Operator": "cpu_op",
    "Runtime": "cuda_runtime",
    "Driver": "cuda_driver",
    "Kernel": "kernel",
    "Memcpy": "gpu_memcpy",
    "Memset": "gpu_memset",
    "UserAnnotation": "user_annotation",
    "PythonFunction": "python_function",
}
"""Early Kineto wrote capitalised categories."""

SPAN = "Trace"
"""Category of the profiler's own span: no event."""

DEVICE_ROWS = (*GPU_WORK, "gpu_user_annotation")
"""Categories whose pid and tid are a device and a stream."""


def is_operator(category: str | None) -> bool:
    """Whether the category's arguments hold shapes and sequence numbers."""
    return _modern(category) in ("cpu_op", "user_annotation")


def is_on_device(category: str | None) -> bool:
    """Whether the category's arguments hold a device and a stream."""
    return _modern(category) in (*GPU_WORK, "cuda_sync")


def is_call(category: str | None) -> bool:
    """Whether the category is that of calls into a GPU runtime or driver."""
    return _modern(category).endswith(("_runtime", "_driver"))


def _modern(category: str | None) -> str:
    return "" if category is None else OLD_SPELLINGS.get(category, category)
