"""Snapshots of a small training as torch.cuda.memory writes them, with sizes that are worked out by hand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Frames = Sequence[Mapping[str, Any]]
LIBRARY = "/opt/venv/lib/python3.12/site-packages/torch"


def frame(name: str, file: str = "??", line: int = 0) -> dict[str, Any]:
    return {"name": name, "filename": file, "line": line}


UNWIND = frame("torch::unwind::unwind()")
CALL = frame("_call_impl", f"{LIBRARY}/nn/modules/module.py", 1790)
TRAIN = frame("<module>", "/home/me/train.py", 9)
FORWARD = [
    UNWIND,
    frame("forward", f"{LIBRARY}/nn/modules/linear.py", 125),
    CALL,
    frame("forward", "/home/me/model.py", 20),
    CALL,
    frame("forward", "/home/me/model.py", 40),
    CALL,
    TRAIN,
]
BACKWARD = [
    UNWIND,
    frame("torch::autograd::generated::MmBackward0::apply(std::vector<at::Tensor>&&)"),
    frame("torch::autograd::Engine::evaluate_function(std::shared_ptr<torch::autograd::GraphTask>&)"),
]
STEP = [UNWIND, frame("adam", f"{LIBRARY}/optim/adam.py", 300), TRAIN]
LOADER = [UNWIND, frame("batches", "/home/me/data.py", 7), TRAIN]


@dataclass
class Recorder:
    """Plays an allocator; sizes in bytes, one entry each microsecond."""

    entries: list[dict[str, Any]] = field(default_factory=list)
    annotations: list[dict[str, Any]] = field(default_factory=list)
    blocks: dict[int, tuple[int, Frames]] = field(default_factory=dict)
    time_us: int = 1_700_000_000_000_001
    address: int = 0x7000_0000_0000

    def allocate(self, size: int, frames: Frames = (), recorded: bool = True) -> int:
        self.address += 1 << 20
        self.blocks[self.address] = (size, frames)
        if recorded:
            self._entry("alloc", self.address, size, frames)
        return self.address

    def free(self, address: int, frames: Frames = ()) -> None:
        size, _ = self.blocks.pop(address)
        for action in ("free_requested", "free_completed"):
            self._entry(action, address, size, frames)

    def fail(self, size: int, device_free: int, frames: Frames) -> None:
        self._entry("oom", 0, size, frames)
        self.entries[-1]["device_free"] = device_free

    def annotate(self, stage: str) -> None:
        self.time_us += 1
        name = "Optimizer.step#Adam.step"
        self.annotations.append({"stage": stage, "name": name, "device": 0, "time_us": self.time_us})

    def _entry(self, action: str, address: int, size: int, frames: Frames) -> None:
        self.time_us += 1
        self.entries.append(
            {
                "action": action,
                "addr": address,
                "size": size,
                "stream": 0,
                "time_us": self.time_us,
                "frames": list(frames),
            }
        )

    def snapshot(self, slack: int = 0) -> dict[str, Any]:
        """Return the snapshot: a segment a block, and `slack` bytes that are free beside each."""
        return {
            "segments": [self._segment(address, slack) for address in self.blocks],
            "device_traces": [self.entries],
            "external_annotations": self.annotations,
        }

    def _segment(self, address: int, slack: int) -> dict[str, Any]:
        size, frames = self.blocks[address]
        rounded = -(-size // 512) * 512
        used = {
            "address": address,
            "size": rounded,
            "requested_size": size,
            "state": "active_allocated",
            "frames": list(frames),
        }
        free = {
            "address": address + rounded,
            "size": slack,
            "requested_size": 0,
            "state": "inactive",
            "frames": [],
        }
        return {
            "device": 0,
            "address": address,
            "total_size": rounded + slack,
            "stream": 0,
            "segment_type": "large",
            "segment_pool_id": (0, 0),
            "is_expandable": False,
            "blocks": [used, free] if slack else [used],
        }


def training(marked: bool = True, exchanged: bool = False) -> Recorder:
    """Record a step: two parameters of 4,096 and 1,024 bytes, activations of 8,000 and 600, Adam.

    With `exchanged` the optimizer makes new state and frees the old one, else it works in place.
    """
    recorder = Recorder()
    parameters = [recorder.allocate(size, recorded=False) for size in (4096, 1024)]
    state = [recorder.allocate(size, recorded=False) for size in (4096, 1024) for _ in range(2)]
    assert len(parameters) == 2
    recorder.allocate(333, recorded=False)
    batch = recorder.allocate(50, LOADER)
    kept = [recorder.allocate(size, FORWARD) for size in (8000, 600)]
    recorder.free(recorder.allocate(7, FORWARD), FORWARD)
    first = recorder.allocate(4096, BACKWARD)
    inner = recorder.allocate(2000, BACKWARD)
    recorder.free(kept[1], BACKWARD)
    recorder.free(inner, BACKWARD)
    second = recorder.allocate(1024, BACKWARD)
    recorder.free(kept[0], BACKWARD)
    if marked:
        recorder.annotate("START")
    scratch = recorder.allocate(20480 if exchanged else 2048, STEP)
    if exchanged:
        for old, size in zip(state, (4096, 4096, 1024, 1024), strict=True):
            recorder.allocate(size, STEP)
            recorder.free(old, STEP)
    recorder.free(scratch, STEP)
    if marked:
        recorder.annotate("END")
    for gradient in (first, second):
        recorder.free(gradient, [UNWIND, TRAIN])
    recorder.free(batch, [UNWIND, TRAIN])
    return recorder
