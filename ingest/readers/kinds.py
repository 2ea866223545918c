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

FRAMES = ("python_function", "PythonFunction")
"""Categories of Python frames, today's and the old one."""

KNOWN = {
    *DEVICE_ROWS,
    *("cpu_op", "user_annotation", "python_function", "overhead", "cpu_instant_event"),
    *("cuda_sync", "cuda_profiler_range", "external_correlation", "collective_comm"),
    *("xpu_sync", "hpu_op", "mtia_ccp_events", "mtia_workloadd", "mtia_insight", "mtia_counters"),
}
"""Categories that Kineto writes, besides those of calls."""


def is_known(category: str) -> bool:
    """Whether it is a category of Kineto."""
    return category in KNOWN or is_call(category)


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
