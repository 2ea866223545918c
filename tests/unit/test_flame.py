"""Flame graphs: boxes, and the same stacks as SVG, folded and for speedscope, whatever the names."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from call_stacks import frames_of

from tracegraph.base.errors import InputError
from tracegraph.queries.shapes.call_tree import call_tree
from tracegraph.workbench.methods.flame import Flame, folded_stacks, speedscope_profile
from tracegraph.workbench.pictures.boxes import lay_out
from tracegraph.workbench.pictures.drawing import draw

HOSTILE = [
    "a;b 12",
    "line\nbreak\r",
    'quote " <b>&amp;</b> \\N \\l',
    "]; box1 [label=evil",
    "\u202eright to left\u2028",
    "=1+1",
    "",
    "nul \x00",
    "ends with 12",
]


STEP = frames_of(
    (0, None, "main", "thread", 5),
    (1, 0, "train.py(3): step", "python_function", 10),
    (2, 1, "launch", "cuda_runtime", 5),
    (3, 2, "gemm", "kernel", 60),
    (3, 2, "gemm", "kernel", 8, "launch latency"),
    (4, 1, "sync", "cuda_runtime", 2),
    (4, 1, "sync", "cuda_runtime", 3, "waiting for GPU"),
    (5, 4, "waiting for GPU", "gap", 7),
)
"""100 ns: GPU work below its launch, and a wait and a lag of the same name."""
LINES = {
    "main 5",
    "main;train.py(3): step 10",
    "main;train.py(3): step;launch 5",
    "main;train.py(3): step;launch;gemm 60",
    "main;train.py(3): step;launch;launch latency 8",
    "main;train.py(3): step;sync 2",
    "main;train.py(3): step;sync;waiting for GPU 10",
}


def test_gaps_are_frames_below_what_waits() -> None:
    tree = call_tree(STEP).set_index("name")
    assert tree["duration_ns"].to_dict() == {
        **{"main": 100, "train.py(3): step": 95, "launch": 73, "gemm": 60, "launch latency": 8},
        **{"sync": 12, "waiting for GPU": 10},
    }
    assert tree.loc["launch", ["own_ns", "gap_ns"]].tolist() == [5, 8]
    assert tree.loc["main", ["own_ns", "gap_ns"]].tolist() == [5, 18]
    assert (tree["own_ns"].sum(), tree.loc["gemm", "depth"], tree.loc["launch latency", "depth"]) == (
        100,
        3,
        3,
    )


def test_boxes_lie_in_the_one_around_them_the_longest_first() -> None:
    boxes = lay_out("all", STEP, 1_000)
    assert [(box.name, box.start_ns, box.length_ns, box.depth) for box in boxes if box.depth < 4] == [
        ("all", 0, 100, 0),
        ("main", 0, 100, 1),
        ("train.py(3): step", 0, 95, 2),
        ("launch", 0, 73, 3),
        ("sync", 73, 12, 3),
    ]
    for box in boxes[1:]:
        around = boxes[box.parent]
        assert around.start_ns <= box.start_ns
        assert box.start_ns + box.length_ns <= around.start_ns + around.length_ns


def test_what_is_below_a_pixel_is_merged_and_nothing_is_lost() -> None:
    many = [(place, 0, f"op {place}", "cpu_op", 1) for place in range(1, 1_001)]
    boxes = lay_out(
        "all", frames_of((0, None, "main", "thread", 0), (2_000, 0, "long", "cpu_op", 1_000), *many), 100
    )
    assert [(box.name, box.length_ns, box.merged) for box in boxes[2:]] == [
        ("long", 1_000, 1),
        ("", 1_000, 1_000),
    ]
    assert len(lay_out("all", frames_of((0, None, "main", "thread", 0), *many[:5], *many[9:]), 10_000)) == 998


def test_folded_stacks() -> None:
    text = folded_stacks(STEP)
    assert text.endswith("\n")
    assert set(text.splitlines()) == LINES
    assert text.splitlines()[0] == "main 5"


def test_speedscope_has_the_same_stacks() -> None:
    content = json.loads(speedscope_profile("my run", STEP))
    assert content["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert content["exporter"].startswith("tracegraph@")
    (profile,) = content["profiles"]
    frames = content["shared"]["frames"]
    assert {"name": "train.py(3): step", "file": "train.py", "line": 3} in frames
    assert set(profile) == {"type", "name", "unit", "startValue", "endValue", "samples", "weights"}
    assert (profile["type"], profile["unit"], profile["name"]) == ("sampled", "nanoseconds", "my run")
    assert profile["endValue"] - profile["startValue"] == sum(profile["weights"]) == 100
    stacks = (";".join(frames[place]["name"] for place in sample) for sample in profile["samples"])
    assert {f"{stack} {own}" for stack, own in zip(stacks, profile["weights"], strict=True)} == LINES


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names(name: str) -> None:
    frames = frames_of(
        (0, None, name, "thread", 0), (1, 0, name, name or "cpu_op", 70), (2, 1, name, "kernel", 30)
    )
    lines = folded_stacks(frames).split("\n")
    assert lines[-1] == ""
    assert [(len(line.split(";")), line.rpartition(" ")[2]) for line in lines[:-1]] == [(2, "70"), (3, "30")]
    assert all(line.isprintable() for line in lines)
    content = json.loads(speedscope_profile(name, frames))
    assert content["profiles"][0]["weights"] == [70, 30]
    svg = ET.fromstring(draw(Flame(name, frames).source, "svg"))
    boxes = [one for one in svg.iter() if one.get("class") == "node"]
    assert len(boxes) == 3
    texts = [(one.text or "").replace("\xa0", " ") for one in svg.iter() if one.tag.endswith("}text")]
    shown = name.replace("\n", "\\x0a").replace("\r", "\\x0d").replace("\0", "\\x00")
    shown = shown.replace("\u202e", "\\u202e").replace("\u2028", "\\u2028")
    assert sum(text.startswith(f"{shown}  ") for text in texts) == 3


def test_a_flame_graph_is_written_by_its_ending(tmp_path: Path) -> None:
    flame = Flame("my run", STEP)
    flame.write(tmp_path / "a.folded")
    flame.write(tmp_path / "a.speedscope.json")
    flame.write(tmp_path / "a.dot")
    assert (tmp_path / "a.folded").read_text() == flame.folded()
    assert (tmp_path / "a.speedscope.json").read_text() == flame.speedscope()
    assert (tmp_path / "a.dot").read_text() == flame.source
    with pytest.raises(InputError, match="names no picture format") as caught:
        flame.write(tmp_path / "a.json")
    assert ".speedscope.json" in caught.value.hint
