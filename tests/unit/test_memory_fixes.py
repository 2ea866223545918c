"""What lowers the peak of memory: predictions against recordings in which the fix was made."""

import pickle
from io import BytesIO
from pathlib import Path

import pytest
from memory_snapshots import CALL, LIBRARY, TRAIN, UNWIND, Recorder, frame, training

from tracegraph.ingest.companions.memory.fixes import MemoryFix, memory_fixes
from tracegraph.ingest.companions.memory.recording import Recording, read_recordings, recordings_in
from tracegraph.ingest.companions.memory.snapshot_columns import read_columns

ENGINE = frame("torch::autograd::Engine::evaluate_function(std::shared_ptr<torch::autograd::GraphTask>&)")
LAYERS, WIDE, NARROW = 6, 4000, 1000


def recorded(recorder: Recorder) -> Recording:
    (found,) = recordings_in("s.pickle", "", read_columns(BytesIO(pickle.dumps(recorder.snapshot()))))
    return found


def by_name(recording: Recording, gpus: int = 2) -> dict[str, MemoryFix]:
    return {fix.name: fix for fix in memory_fixes(recording, gpus)}


def inside(line: int) -> list[dict[str, object]]:
    own = frame("forward", "/home/me/block.py", line)
    library = frame("forward", f"{LIBRARY}/nn/modules/linear.py", 125)
    return [UNWIND, library, CALL, own, CALL, frame("forward", "/home/me/model.py", 40), CALL, TRAIN]


def layers(checkpointed: bool) -> Recorder:
    """Record equal layers, each of which keeps two inner tensors and its output, and their backward."""
    recorder = Recorder()
    kept: list[list[int]] = []
    for _ in range(LAYERS):
        own = [recorder.allocate(size, inside(line)) for line, size in ((5, WIDE), (6, WIDE), (7, NARROW))]
        if checkpointed:
            recorder.free(own.pop(0), inside(7))
            recorder.free(own.pop(0), inside(7))
        kept.append(own)
    for own in reversed(kept):
        again: list[int] = []
        if checkpointed:
            again = [recorder.allocate(WIDE, [*inside(line)[:-1], ENGINE]) for line in (5, 6)]
        gradient = recorder.allocate(NARROW, [UNWIND, ENGINE])
        for address in reversed([*again, *own]):
            recorder.free(address, [UNWIND, ENGINE])
        recorder.free(gradient, [UNWIND, ENGINE])
    return recorder


def test_checkpointing_saves_what_a_recording_with_it_shows() -> None:
    plain, made = recorded(layers(checkpointed=False)), recorded(layers(checkpointed=True))
    fix = by_name(plain)["checkpoint model.py:40"]
    assert fix.saved_bytes == plain.peak.bytes - fix.peak_bytes
    measured = plain.peak.bytes - made.peak.bytes
    assert fix.saved_bytes == pytest.approx(measured, rel=0.1)
    assert fix.time_ns == LAYERS * 2_000  # three allocations of each call, a microsecond apart


def test_fixes_of_an_optimizer_that_exchanges_its_state() -> None:
    """Less memory in the optimizer moves the peak into backward, where one gradient of 4,096 is there."""
    recording = recorded(training(exchanged=True))
    found = by_name(recording, gpus=4)
    assert recording.peak.bytes == 5_120 + 5_120 + 10_240 + 20_480 + 4_096 + 333 + 50
    forward = 5_120 + 10_240 + 8_600 + 4_096 + 2_000 + 50 + 333
    assert found["optimizer in place"].peak_bytes == forward
    assert found["ZeRO stage 1"].peak_bytes == forward - 10_240 * 3 // 4
    assert found["ZeRO stage 2"].peak_bytes == forward - (10_240 + 4_096) * 3 // 4
    assert found["ZeRO stage 3"].peak_bytes == forward - (10_240 + 4_096 + 5_120) * 3 // 4
    assert found["offload the optimizer"].peak_bytes == forward - 10_240
    assert f"{2 * 10_240:,} bytes" in found["offload the optimizer"].costs


def test_half_the_batch_is_what_a_recording_with_it_shows() -> None:
    """`examples/memory/train.py --half` was recorded: its peak is 6,453,640 bytes."""
    (plain,) = read_recordings(
        Path(__file__).parents[2] / "examples" / "memory" / "memory_timeline.raw.json.gz"
    )
    assert by_name(plain)["half the batch"].peak_bytes == pytest.approx(6_453_640, rel=0.01)


def test_half_the_batch_leaves_parameters_and_state() -> None:
    recording = recorded(training())
    fix = by_name(recording)["half the batch"]
    of_the_batch = 8_600 + 2_050
    assert (recording.peak.bytes - fix.peak_bytes, fix.saved_bytes) == (of_the_batch // 2,) * 2
