"""Traces with memory rows as recordings of memory: lives, stacks, labels, and fixes against recorded jobs."""

import gzip
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracegraph.base.errors import InputError
from tracegraph.cli.main import main
from tracegraph.ingest.companions.memory.fixes import MemoryFix, memory_fixes
from tracegraph.ingest.companions.memory.recording import Recording, read_recordings
from tracegraph.workbench.memory.content import memory_blocks, memory_row, memory_title
from tracegraph.workbench.memory.notes import class_note
from tracegraph.workbench.sections.blocks import Words

ROOT = Path(__file__).parents[2]
PLAIN = ROOT / "examples" / "memory" / "memory_trace.json.gz"
"""Recorded with examples/memory/train.py."""
CHECKPOINTED = ROOT / "tests" / "data" / "memory_checkpointed.json.gz"
"""Recorded with its --checkpoint; of the trace only the memory rows and annotations are kept."""
PARAMETERS = 8 * (2 * 64 * 256 + 256 + 64) * 4
GPU, CPU = {"Device Type": 1, "Device Id": 0}, {"Device Type": 0, "Device Id": -1}
Entry = dict[str, Any]


@pytest.fixture(scope="module")
def plain() -> Recording:
    (found,) = read_recordings(PLAIN)
    return found


def by_name(recording: Recording) -> dict[str, MemoryFix]:
    return {fix.name: fix for fix in memory_fixes(recording)}


def classes(recording: Recording) -> dict[str, int]:
    return recording.classes().groupby("class")["bytes"].sum().to_dict()


def test_checkpointing_saves_what_a_job_recorded_with_it_shows(plain: Recording) -> None:
    (made,) = read_recordings(CHECKPOINTED)
    assert (plain.peak.bytes, made.peak.bytes) == (6_357_256, 2_727_688)
    fix = by_name(plain)["checkpoint Block"]
    assert fix.peak_bytes == pytest.approx(made.peak.bytes, rel=0.1)
    assert fix.saved_bytes == pytest.approx(plain.peak.bytes - made.peak.bytes, rel=0.1)
    assert fix.what == "call each Block by torch.utils.checkpoint.checkpoint"
    assert fix.time_ns is not None
    assert 0 < fix.time_ns < 10**9


def test_half_the_batch_is_what_a_job_recorded_with_it_shows(plain: Recording) -> None:
    """`examples/memory/train.py --half` was recorded: 3,211,528 bytes by its memory rows."""
    assert by_name(plain)["half the batch"].peak_bytes == pytest.approx(3_211_528, rel=0.01)


def test_the_level_is_the_total_that_each_row_states(plain: Recording) -> None:
    rows = [one for one in json.loads(gzip.decompress(PLAIN.read_bytes()))["traceEvents"] if one["ph"] == "i"]
    stated = [one["args"]["Total Allocated"] for one in rows if one["name"] == "[memory]"]
    level = plain.running.drop(columns="at_ns").sum(axis=1).reindex(range(len(stated))).ffill()
    assert level.tolist() == stated


def test_the_peak_is_that_of_a_timeline_less_what_was_there_before(plain: Recording) -> None:
    """The profiler counts the CPU's memory from its own start; a timeline knows the older blocks by use."""
    (timeline,) = read_recordings(ROOT / "examples" / "memory" / "memory_timeline.raw.json.gz")
    known = classes(timeline)
    before = known["parameter"] + known["optimizer state"] + known["input"]
    assert plain.peak.bytes == timeline.peak.bytes - before


def test_sources_are_the_user_s_lines_and_the_classes_of_modules(plain: Recording) -> None:
    first = plain.sources().iloc[0]
    assert (first["class"], first["file"], first["line"]) == ("activation", "train.py", 31)
    assert (first["function"], first["module"]) == ("forward", "Model > Block")
    steps = plain.sources()["function"]
    assert {"AddmmBackward0", "SigmoidBackward0", "step"} <= set(steps)


def test_the_phase_of_the_peak_and_labels(plain: Recording) -> None:
    assert (plain.peak_step, plain.peak_phase) == (None, "backward")
    cleared = plain.labels[plain.labels["name"] == "Optimizer.zero_grad#Adam.zero_grad"].iloc[-1]
    assert cleared["start_bytes"] == cleared["peak_bytes"] == PARAMETERS
    assert cleared["end_bytes"] == 0
    stepped = plain.labels[plain.labels["name"] == "Optimizer.step#Adam.step"].iloc[0]
    assert stepped["start_bytes"] == stepped["end_bytes"] == PARAMETERS
    assert stepped["peak_bytes"] > PARAMETERS


def test_the_command_takes_a_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "memory.html"
    arguments = ["--workspace", str(tmp_path / "workspace"), "--quiet", "memory", str(PLAIN), "-o", str(page)]
    assert main(arguments) == 0
    said = re.sub(r"\s+", " ", capsys.readouterr().out)
    assert "Memory: memory_trace.json.gz, CPU" in said
    assert ", in backward: 6.36 MB, of which activation is 80.4 %" in said
    assert "The profiler counts the CPU's memory from its own start" in said
    assert "train.py:31 forward in Block" in said
    assert "call each Block by 2.69 MB 3.66 MB" in said
    assert "Checkpointing is not among them" not in said
    assert "Memory over time by class" in page.read_text()


def test_json_has_step_phase_and_labels(plain: Recording) -> None:
    row = json.loads(json.dumps(memory_row(plain, memory_fixes(plain))))
    assert row["kind"] == "trace"
    assert row["peak"]["phase"] == "backward"
    assert len(row["labels"]) == 4


def span(name: str, ts: float, dur: float, cat: str = "python_function", tid: int = 1, **args: Any) -> Entry:
    return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur, "args": args}


def row(ts: float, size: int, total: int | None, address: int | None, tid: int = 1, **args: Any) -> Entry:
    totals = {} if total is None else {"Total Allocated": total, "Total Reserved": 0}
    given = {"Bytes": size, "Addr": address, **GPU, **totals, **args}
    return {"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": tid, "ts": ts, "args": given}


NEEDED = "autograd::engine::evaluate_function: MmBackward0"
FRAMES = (
    span("train.py(9): main", 0, 100),
    span("nn.Module: Net_0", 10, 30),
    span("model.py(4): forward", 11, 28),
    span("nn.Module: Layer_0", 12, 10),
    span("nn.Module: Layer_1", 24, 10),
    span("torch/nn/functional.py(1): relu", 25, 3),
)
OTHERS = (
    span("ProfilerStep#7", 0, 70, "user_annotation"),
    span("aten::mm", 13, 2, "cpu_op", **{"Sequence number": 1, "Fwd thread id": 0}),
    span("aten::mm", 25, 2, "cpu_op", **{"Sequence number": 2, "Fwd thread id": 0}),
    span(NEEDED, 50, 5, "cpu_op", 2, **{"Sequence number": 2, "Fwd thread id": 1}),
    span(NEEDED, 60, 5, "cpu_op", 2, **{"Sequence number": 1, "Fwd thread id": 1}),
    span("Optimizer.step#Adam.step", 66, 3, "user_annotation"),
)
ROWS = (
    row(1, 8, 8, 900, **CPU),
    row(2, -40, 960, 7),  # from before
    row(13, 100, 1060, 1),
    row(14, 10, 1070, 2),  # the output of the first layer
    row(25, 100, 1170, 3),
    row(26, 10, 1180, 4),
    row(51, 500, 1680, 5, tid=2),
    row(52, -100, 1580, 3, tid=2),
    row(53, -10, 1570, 4, tid=2),
    row(61, 300, 1870, 1 << 46, tid=2),
    row(62, -100, 1770, 1, tid=2),
    row(63, -10, 1760, 2, tid=2),
    row(64, -300, 1460, 1 << 46, tid=2),
    row(80, 50, 1510, 1),  # an address again
)


def recorded(tmp_path: Path, entries: Sequence[Mapping[str, Any]]) -> list[Recording]:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": list(entries)}))
    return read_recordings(path)


def memory_row_at(at: int, address: int, size: int, total: int) -> Entry:
    args = {"Addr": address, "Bytes": size, "Total Allocated": total, "Total Reserved": 0, **GPU}
    return {
        "ph": "i",
        "cat": "cpu_instant_event",
        "name": "[memory]",
        "pid": 1,
        "tid": 1,
        "ts": at,
        "args": args,
    }


@pytest.mark.parametrize(("addresses", "lacks"), [((64, 64, 64), True), ((64, 128, 192), False)])
def test_rows_that_count_more_than_their_blocks_hold_are_said(
    tmp_path: Path, addresses: Sequence[int], lacks: bool
) -> None:
    rows = [memory_row_at(at, one, 100, 100 * at) for at, one in enumerate(addresses, 1)]
    (found,) = recorded(tmp_path, rows)
    assert found.lives is not None
    assert found.lives.stated_bytes == 300
    assert ("Its rows count up to 300 bytes" in class_note(found)) is lacks


def test_a_gpu_with_memory_from_before(tmp_path: Path) -> None:
    """The first total is 960 after 40 were freed: beside these 40, 960 bytes are from before."""
    (found,) = recorded(tmp_path, (*FRAMES, *OTHERS, *ROWS))
    assert found.device == 0
    assert found.peak.bytes == 1870
    assert (found.peak_step, found.peak_phase) == ("ProfilerStep#7", "backward")
    assert classes(found) == {"from before the recording": 960, "activation": 110, "temporary": 300} | {
        "gradient": 500
    }
    assert memory_title(found) == "Memory: trace.json, device 0"
    rows = found.sources().set_index("class")
    kept = rows.loc["activation"]
    assert (kept["file"], kept["line"], kept["module"]) == ("model.py", 4, "Net > Layer")
    assert rows.loc["gradient", "function"] == "MmBackward0"


def test_checkpointed_layers_are_there_again_before_their_own_backward(tmp_path: Path) -> None:
    """Worked out by hand, with a temporary of 30 in the first layer's backward: the peak is before it.

    Plain: both layers' 110 and a gradient of 500. Checkpointed, the peak is in the first layer's backward:
    its 100 again, its output, the gradient, and the temporary.
    """
    rows = [
        row(ts, size, None, address, tid=2 if ts > 50 else 1)
        for ts, size, address in (
            *((13, 100, 1), (14, 10, 2), (25, 100, 3), (26, 10, 4), (51, 500, 5), (52, -100, 3)),
            *((53, -10, 4), (61, 30, 6), (62, -100, 1), (63, -10, 2), (64, -30, 6)),
        )
    ]
    (found,) = recorded(tmp_path, (*FRAMES, *OTHERS, *rows))
    assert found.peak.bytes == 2 * 110 + 500
    fix = by_name(found)["checkpoint Layer"]
    assert (fix.peak_bytes, fix.saved_bytes) == (100 + 10 + 500 + 30, 80)
    assert "checkpoint Net" not in by_name(found)
    forward_only = [one for one in (*FRAMES, *OTHERS, *rows) if one["ts"] < 50]
    (found,) = recorded(tmp_path, forward_only)
    assert (found.peak.bytes, found.peak_phase) == (2 * 110, "forward")
    assert by_name(found)["checkpoint Layer"].saved_bytes == 100


def test_without_stacks_checkpointing_is_not_offered_and_the_page_says_why(tmp_path: Path) -> None:
    (found,) = recorded(tmp_path, (*OTHERS, *ROWS))
    fixes = memory_fixes(found)
    assert not [fix for fix in fixes if fix.name.startswith("checkpoint")]
    words = [block.text for block in memory_blocks(found, fixes) if isinstance(block, Words)]
    assert words[-1].startswith("Checkpointing is not among them")
    assert classes(found)["activation"] == 110


ACTIONS = st.lists(st.tuples(st.integers(0, 5), st.integers(1, 10_000)), min_size=1, max_size=40)


@settings(deadline=None, max_examples=15)
@given(actions=ACTIONS, cut=st.integers(0, 39))
def test_the_level_is_what_totals_state_wherever_the_recording_begins(
    tmp_path_factory: pytest.TempPathFactory, actions: list[tuple[int, int]], cut: int
) -> None:
    """An allocator that gives out freed addresses again; the rows before `cut` were not recorded."""
    sizes: dict[int, int] = {}
    rows, totals = [], []
    for ts, (which, size) in enumerate(actions, 1):
        if which in sizes:
            changed = -sizes.pop(which)
        else:
            sizes[which] = changed = size
        totals.append(sum(sizes.values()))
        rows.append(row(ts, changed, totals[-1], which))
    recorded_rows = rows[cut:] or rows
    path = tmp_path_factory.mktemp("levels")
    (found,) = recorded(path, [span("main.py(1): main", 0, 100), *recorded_rows])
    level = found.running.drop(columns="at_ns").sum(axis=1).reindex(range(-1, len(recorded_rows)))
    assert level.ffill().fillna(0).iloc[1:].tolist() == totals[-len(recorded_rows) :]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], r"holds no \[memory\] rows; give a trace that is recorded with profile_memory=True"),
        ([row(13, 100, 100, None)], r"state no addresses \(Addr\).*profile_memory=True"),
    ],
)
def test_what_a_trace_lacks_is_said_in_one_line(tmp_path: Path, rows: list[Entry], said: str) -> None:
    with pytest.raises(InputError) as refused:
        recorded(tmp_path, (*FRAMES, *rows))
    assert "\n" not in str(refused.value)
    assert re.search(said, f"{refused.value}; {refused.value.hint}")


def test_the_peak_of_a_real_gpu(shared_trace: Callable[[str], Path]) -> None:
    (found,) = read_recordings(shared_trace("h1_qwen_h100.json.gz"))
    assert (found.device, found.peak.bytes) == (0, 2_088_508_416)
    assert (found.peak_step, found.peak_phase) == ("ProfilerStep#6", "forward")
    assert {"Qwen2Attention", "Linear"} <= {
        str(one).rpartition(" > ")[2] for one in found.sources()["module"].dropna()
    }


def test_a_recording_of_no_bytes_has_no_fixes(tmp_path: Path) -> None:
    (found,) = recorded(tmp_path, [memory_row_at(at, 64 * at, 0, 0) for at in (1, 2)])
    assert memory_fixes(found) == []
