"""The kinds of devices whose memory a trace tells of, by PyTorch's numbers for them (c10::DeviceType)."""

_NAMES = (
    *("cpu", "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip", "fpga", "maia", "xla", "vulkan"),
    *("metal", "xpu", "mps", "meta", "hpu", "ve", "lazy", "ipu", "mtia", "privateuseone"),
)


def device_type(number: int) -> str:
    """Return the kind of a number as `torch.device` names it; `type 99` of one that is not known."""
    return _NAMES[number] if 0 <= number < len(_NAMES) else f"type {number}"


def device_number(kind: str) -> int:
    """Return the number of a kind that `device_type` has named."""
    return _NAMES.index(kind) if kind in _NAMES else int(kind.removeprefix("type "))
