"""What memory of a training step is for: PyTorch's own classes, and those that only a snapshot shows."""

from typing import Final

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
