"""The words of memory: kinds of devices that have it, and what memory of a training step is for."""

from typing import Final

SNAPSHOT: Final = "snapshot"
TIMELINE: Final = "timeline"
TRACE: Final = "trace"
"""The files that tell what memory is for."""

PARAMETER: Final = "parameter"
OPTIMIZER_STATE: Final = "optimizer state"
INPUT: Final = "input"
TEMPORARY: Final = "temporary"
ACTIVATION: Final = "activation"
GRADIENT: Final = "gradient"
AUTOGRAD: Final = "autograd detail"
UNKNOWN: Final = "unknown"
IN_OPTIMIZER: Final = "allocated in the optimizer"
"""Allocated in a step of the optimizer that is not over: new state beside the old one, or temporary."""
FROM_BEFORE: Final = "from before the recording"
"""Allocated before the recording began; no rule tells what for."""

TIMELINE_CLASSES: Final = (
    PARAMETER,
    OPTIMIZER_STATE,
    INPUT,
    TEMPORARY,
    ACTIVATION,
    GRADIENT,
    AUTOGRAD,
    UNKNOWN,
)
"""PyTorch's classes by their number in a timeline: the order of _CATEGORY_TO_COLORS in torch.profiler."""
MEMORY_CLASSES: Final = (*TIMELINE_CLASSES[:-1], IN_OPTIMIZER, FROM_BEFORE, UNKNOWN)
"""All classes in the order in which pictures stack them."""

IN_USE: Final = "in use"
PENDING: Final = "waits for a stream"
SPLIT_FREE: Final = "split free"
CACHED_WHOLE: Final = "cached whole"
PART_STATES: Final = (IN_USE, PENDING, SPLIT_FREE, CACHED_WHOLE)
"""What parts of the allocator's segments are: freed once a stream is done with it is `PENDING`; free parts
beside others in use are `SPLIT_FREE`, those of segments that nobody uses `CACHED_WHOLE`."""

ALIGNED: Final = "aligned"
NO_ROWS: Final = "no memory rows"
DIFFERENT: Final = "different"
ALIGNMENT_STATES: Final = (ALIGNED, NO_ROWS, DIFFERENT)
"""How a recording stands to the run it is given with: its changes are those of the run's memory rows, the run
has none of its device, or they are others."""

_NAMES = (
    *("cpu", "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip", "fpga", "maia", "xla", "vulkan"),
    *("metal", "xpu", "mps", "meta", "hpu", "ve", "lazy", "ipu", "mtia", "privateuseone"),
)
"""Kinds of devices by PyTorch's numbers for them (c10::DeviceType)."""


def device_type(number: int) -> str:
    """Name the kind of device with a number as `torch.device` does; an unknown one is `type 99`, say."""
    return _NAMES[number] if 0 <= number < len(_NAMES) else f"type {number}"


def device_number(kind: str) -> int:
    """Return the number of a kind as `device_type` names it."""
    return _NAMES.index(kind) if kind in _NAMES else int(kind.removeprefix("type "))
