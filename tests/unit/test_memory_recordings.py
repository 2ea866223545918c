"""Snapshots and timelines of memory: classes, sources and pools against numbers worked out elsewhere."""

import gzip
import json
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_snapshots import BACKWARD, FORWARD, LOADER, Recorder, training

from tracegraph.base.errors import InputError
from tracegraph.ingest.companions.memory.class_rules import changes_of, classify
from tracegraph.ingest.companions.memory.levels import levels
from tracegraph.ingest.companions.memory.lives import lives_of
from tracegraph.ingest.companions.memory.recording import Recording, read_recordings, recordings_in
from tracegraph.ingest.companions.memory.snapshot_columns import read_columns

READ = """
import resource
import sys
from pathlib import Path
from tracegraph.base.errors import InputError
from tracegraph.ingest.companions.memory.recording import read_recordings

try:
    read_recordings(Path(sys.argv[1]))
except InputError as error:
    print(error)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
"""In a process of its own, because the largest child that other tests had counts for the whole process."""
TIMELINE = Path(__file__).parents[2] / "examples" / "memory" / "memory_timeline.raw.json.gz"


def classes_of(recording: Recording) -> dict[str, int]:
    rows = recording.classes()
    return rows.groupby("class")["bytes"].sum().to_dict()


def recorded(snapshot: object) -> Recording:
    (found,) = recordings_in("s.pickle", "", read_columns(BytesIO(pickle.dumps(snapshot))))
    return found


def classes_at_peak(recorder: Recorder) -> dict[str, int]:
    return classes_of(recorded(recorder.snapshot()))


@pytest.fixture(scope="module")
def k2(shared_trace: Callable[[str], Path]) -> Recording:
    (found,) = read_recordings(shared_trace("k2_torch_memory_snapshot_train.pickle.gz"))
    return found


def test_peak_and_classes_of_a_real_snapshot(k2: Recording) -> None:
    found = classes_of(k2)
    assert (k2.peak.bytes, k2.peak.at_ns) == (7_013_335_044, 1_783_874_495_960_056_000)
    other = found.pop("unknown") + found.pop("from before the recording")
    assert (found, other) == (
        {
            "parameter": 1_692_733_440,
            "gradient": 1_692_733_440,
            "optimizer state": 3_385_466_880,
            "allocated in the optimizer": 204_800_000,
        },
        37_601_284,
    )
    blocks = k2.classes().set_index("class")["blocks"]
    assert (blocks["gradient"], blocks["optimizer state"]) == (219, 438)


def test_sources_of_a_real_snapshot(k2: Recording) -> None:
    sources = k2.sources()
    assert sources["bytes"].sum() == k2.peak.bytes
    in_optimizer = sources[sources["class"] == "allocated in the optimizer"]
    assert dict(zip(in_optimizer["line"], in_optimizer["bytes"], strict=True)) == {
        76: 40_960_000,
        77: 40_960_000,
        80: 122_880_000,
    }
    assert {Path(file).name for file in in_optimizer["file"]} == {"optimizer.py"}
    assert set(sources.loc[sources["function"] == "AccumulateGrad", "class"]) == {"gradient"}


def test_pools_of_a_real_snapshot(k2: Recording) -> None:
    pool = k2.pools.set_index("pool").loc["all"]
    assert pool["reserved_bytes"] == 7_235_174_400
    assert pool["allocated_bytes"] == 6_816_891_392
    assert pool["requested_bytes"] == 6_808_535_044
    assert pool["free_segment_bytes"] == 343_932_928
    assert pool["split_free_bytes"] == 74_350_080
    assert pool["largest_free_bytes"] == 41_943_040
    assert (round(pool["unused_share"], 4), round(pool["fragmentation"], 4)) == (0.0578, 0.0103)


def test_peak_and_classes_of_a_real_timeline(shared_trace: Callable[[str], Path]) -> None:
    (found,) = read_recordings(shared_trace("j3_memory_timeline.raw.gz"))
    assert found.peak.bytes == 3_082_832_104
    assert classes_of(found) == {
        "activation": 2_592_465_920,
        "unknown": 134_218_152,
        "parameter": 102_440_608,
        "optimizer state": 102_228_128,
        "gradient": 67_858_432,
        "autograd detail": 64_225_280,
        "input": 19_395_584,
    }


def test_classes_of_our_own_timeline() -> None:
    """Sizes by examples/memory/train.py: eight blocks of 64 × 256 in float32, Adam, 512 rows."""
    (found,) = read_recordings(TIMELINE)
    parameters, blocks, rows = 8 * (2 * 64 * 256 + 256 + 64) * 4, 8, 512
    known, highest = classes_of(found), found.running.drop(columns="at_ns").max()
    assert known["parameter"] == highest["gradient"] == parameters
    assert known["optimizer state"] == 2 * parameters + 4 * blocks * 4  # a step counter for each tensor
    assert known["input"] == rows * 64 * 4
    sigmoids, sums = blocks * rows * 256 * 4, blocks * rows * 64 * 4
    assert known["activation"] + known["autograd detail"] >= sigmoids + sums


@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize("exchanged", [True, False])
def test_classes_of_a_small_training(marked: bool, exchanged: bool) -> None:
    found = classes_at_peak(training(marked, exchanged))
    assert found["parameter"] == 4096 + 1024
    assert found["optimizer state"] == 2 * (4096 + 1024)
    assert found["from before the recording"] == 333
    if exchanged:
        assert found["gradient"] == 4096 + 1024
        assert found["allocated in the optimizer"] == 20480 + 4096
    else:
        assert found["activation"] == 8000 + 600
        assert found["temporary"] == 2000 + 50


def test_new_state_is_state_once_the_step_is_over() -> None:
    (lives,) = lives_of(read_columns(BytesIO(pickle.dumps(training(exchanged=True).snapshot()))))
    running = levels(changes_of(classify(lives), lives))
    state, inside = running["optimizer state"], running["allocated in the optimizer"]
    assert (state.iloc[-1], inside.iloc[-1]) == (2 * (4096 + 1024), 0)
    assert inside.max() == 20480 + 4096 + 4096 + 1024 + 1024


def test_sources_name_the_user_s_line_and_the_calls_of_modules() -> None:
    found = recorded(training().snapshot())
    rows = found.sources()
    line = rows[rows["class"] == "activation"].iloc[0]
    assert (line["file"], line["line"], line["bytes"]) == ("/home/me/model.py", 20, 8600)
    assert line["module"] == "train.py:9 > model.py:40 > model.py:20"


def test_a_failed_allocation() -> None:
    recorder = Recorder()
    recorder.allocate(1000, LOADER)
    recorder.allocate(3000, FORWARD)
    recorder.fail(5000, 77, FORWARD)
    found = recorded(recorder.snapshot(slack=512))
    (row,) = found.failed.to_dict("records")
    assert (row["bytes"], row["device_free_bytes"], row["used_bytes"]) == (5000, 77, 4000)
    assert (row["largest_class"], row["largest_class_bytes"]) == ("activation", 3000)
    assert row["cached_bytes"] == (1024 + 512) + (3072 + 512) - 4000
    assert (row["file"], row["line"]) == ("/home/me/model.py", 20)


ACTIONS = st.lists(st.tuples(st.integers(0, 5), st.integers(1, 10_000)), min_size=1, max_size=40)


@settings(deadline=None, max_examples=15)
@given(actions=ACTIONS, cut=st.integers(0, 40))
def test_the_level_is_that_of_a_plain_count_wherever_the_recording_begins(
    actions: list[tuple[int, int]], cut: int
) -> None:
    """The ring buffer loses the oldest entries; the level at all others stays what it was."""
    recorder, alive, level, counted = Recorder(), [], 0, []
    for which, size in actions:
        if which < len(alive):
            freed = alive.pop(which)
            level -= recorder.blocks[freed][0]
            recorder.free(freed)
            counted += [counted[-1], level]
        else:
            alive.append(recorder.allocate(size, [FORWARD, BACKWARD, LOADER][size % 3]))
            level += size
            counted.append(level)
    snapshot = recorder.snapshot()
    snapshot["device_traces"] = [recorder.entries[cut:]]
    (lives, *_) = lives_of(read_columns(BytesIO(pickle.dumps(snapshot)))) or [None]
    if lives is None or lives.blocks.empty:
        assert not counted[cut:] or not any(counted[cut:])
        return
    running = levels(changes_of(classify(lives), lives)).drop(columns="at_ns").sum(axis=1)
    found = running.reindex(range(-1, lives.entries)).ffill().fillna(0).astype(int)
    expected = pd.Series(counted[cut:], dtype=int)
    assert found.iloc[1:].tolist() == expected.tolist()


def refusal(tmp_path: Path, content: bytes) -> str:
    path = tmp_path / "hostile.pickle"
    path.write_bytes(content)
    with pytest.raises(InputError) as refused:
        read_recordings(path)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_a_pickle_with_a_class_is_refused_and_not_run(tmp_path: Path) -> None:
    class Hostile:
        def __reduce__(self) -> tuple[object, ...]:
            return os.mkdir, (str(tmp_path / "made"),)

    said = refusal(tmp_path, pickle.dumps({"segments": [Hostile()]}))
    assert "asks for posix.mkdir" in said
    assert not (tmp_path / "made").exists()


CYCLE: list[object] = []
CYCLE.append(CYCLE)
WHOLE = pickle.dumps({"segments": [], "device_traces": [[{"action": "alloc", "addr": 1, "size": 2}]]})


@pytest.mark.parametrize(
    "content",
    [
        WHOLE[:-9],
        pickle.dumps({"segments": CYCLE}),
        pickle.dumps({"segments": [], "device_traces": [CYCLE]}),
        pickle.dumps({"segments": [{"address": "x", "total_size": 1, "blocks": []}]}),
        pickle.dumps({"segments": [{"address": 1, "total_size": 2**70, "blocks": []}]}),
        pickle.dumps({"segments": 3}),
        pickle.dumps(["segments"]),
        b"\x80\x04\x8c\x08segments\x8c\x01x\x93.",
        b"\x80\x02}U\x08segmentsQ.",
        b"\x80\x04" + b"9" * 50 + b"segments",
    ],
)
def test_content_of_another_form_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"the pickle|another form"):
        read_columns(BytesIO(content))


@pytest.mark.parametrize(
    "content",
    [
        b"\x80\x04]\x8c\x08segments(" + b"}" * 16 * 10**6 + b"e.",
        b"\x80\x02}U\x08segmentsr" + (2**31 - 1).to_bytes(4, "little") + b".",
    ],
    ids=["sixteen million dictionaries", "a place that does not exist"],
)
def test_a_pickle_that_asks_for_memory_is_refused_within_bounds(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "hostile.pickle"
    path.write_bytes(content)
    done = subprocess.run([sys.executable, "-c", READ, path], capture_output=True, text=True, check=True)
    *said, peak = done.stdout.splitlines()
    assert "needs more than 1,000,000,000 bytes of memory" in "".join(said)
    assert len(said) == 1
    assert int(peak) < 1_500_000


@pytest.mark.parametrize(
    "rows",
    [
        "[[1, 2, 3",
        "[[1, 2, 3, 9]]",
        "[[1, 7, 3, 0]]",
        '[["x", 2, 3, 0]]',
        "[[1, 2, 99999999999999999999, 0]]",
    ],
)
def test_a_damaged_timeline_is_refused(tmp_path: Path, rows: str) -> None:
    path = tmp_path / "damaged.raw.json.gz"
    path.write_bytes(gzip.compress(rows.encode()))
    with pytest.raises(InputError, match="is no memory timeline"):
        read_recordings(path)


def test_a_file_without_memory_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": []}))
    with pytest.raises(InputError, match="is no recording of memory"):
        read_recordings(path)


def test_the_page_shows_what_its_code_prints(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = TIMELINE.parents[2]
    page = (root / "docs" / "memory.md").read_text(encoding="utf-8")
    (block,) = re.finditer(r"^```python\n(.*?)^```\n```text\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    monkeypatch.chdir(root)
    exec(compile(block[1], "docs/memory.md", "exec"), {})
    assert capsys.readouterr().out == block[2]
