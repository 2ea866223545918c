"""The kinds of devices whose memory a trace records, by PyTorch's numbers for them (c10::DeviceType)."""

_NAMES = (
    *("cpu", "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip", "fpga", "maia", "xla", "vulkan"),
    *("metal", "xpu", "mps", "meta", "hpu", "ve", "lazy", "ipu", "mtia", "privateuseone"),
)


def device_type(number: int) -> str:
    """Name the kind of device with a number as `torch.device` does; an unknown one is `type 99`, say."""
    return _NAMES[number] if 0 <= number < len(_NAMES) else f"type {number}"


def device_number(kind: str) -> int:
    """Return the number of a kind as `device_type` names it."""
    return _NAMES.index(kind) if kind in _NAMES else int(kind.removeprefix("type "))
