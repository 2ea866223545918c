"""Where in my code: which frames of the call stacks are listed."""

from typing import Any

from call_stacks import frames_of

from tracegraph.queries.catalog import find

PYTHON = "python_function"
MAIN = (0, None, "main", "thread", 0)


def outline(*rows: tuple[Any, ...]) -> Any:
    return find("path_outline").shaped({}, [frames_of(*rows)])


def listed(*rows: tuple[Any, ...]) -> list[str]:
    """The names of the outline's rows, indented."""
    found = outline(*rows)
    return [". " * depth + name for depth, name in zip(found["depth"], found["name"], strict=True)]


def test_of_frames_with_nearly_the_same_time_the_users_own_are_listed() -> None:
    rows = outline(
        MAIN,
        (1, 0, "train.py(9): <module>", PYTHON, 0),
        (2, 1, "train.py(5): run", PYTHON, 1),
        (3, 2, "ProfilerStep#", "user_annotation", 0),
        (4, 3, "torch/nn/modules/module.py(1776): _call_impl", PYTHON, 1),
        (5, 4, "train.py(3): forward", PYTHON, 0),
        (6, 5, "<built-in method conv of type object at 0x7f00>", PYTHON, 1),
        (7, 6, "aten::conv", "cpu_op", 60),
        (8, 6, "aten::relu", "cpu_op", 36),
        (9, 1, "aten::add", "cpu_op", 1),
    )
    assert [". " * depth + name for depth, name in zip(rows["depth"], rows["name"], strict=True)] == [
        "main",
        ". train.py(9): <module>",
        ". . ProfilerStep#",
        ". . . train.py(3): forward",
        ". . . . aten::conv",
        ". . . . aten::relu",
    ]
    forward = rows.iloc[3]
    assert (forward["duration_ns"], forward["own_ns"], forward["left_out_ns"], forward["skipped"]) == (
        97,
        0,
        1,
        1,
    )
    assert rows["skipped"].tolist() == [0, 0, 1, 1, 1, 1]
    assert rows["own_ns"].sum() + rows["left_out_ns"].sum() == 100


def test_the_last_of_them_is_listed_where_it_does_the_work() -> None:
    resize = "<built-in method resize of ImagingCore object at 0x7f00>"
    assert listed(MAIN, (1, 0, "data.py(3): load", PYTHON, 1), (2, 1, resize, PYTHON, 99)) == [
        "main",
        ". data.py(3): load",
        f". . {resize}",
    ]


def test_at_least_the_last_is_listed() -> None:
    rows = (MAIN, (1, 0, "aten::a", "cpu_op", 50), (2, 0, "runpy.py(9): run", PYTHON, 1))
    rows += (
        (3, 2, "threading.py(9): run", PYTHON, 1),
        (4, 3, "aten::b", "cpu_op", 24),
        (5, 3, "c", "cpu_op", 24),
    )
    assert listed(*rows) == ["main", ". aten::a", ". threading.py(9): run", ". . aten::b", ". . c"]


def test_small_frames_are_left_out_and_there_are_not_too_many() -> None:
    rows = outline(MAIN, *((place, 0, f"op {place}", "cpu_op", 100 + place) for place in range(1, 31)))
    assert rows["name"].tolist() == ["main", *(f"op {place}" for place in range(30, 11, -1))]
    assert rows["left_out_ns"].iloc[0] == sum(100 + place for place in range(1, 12))
    assert listed(MAIN, (1, 0, "large", "cpu_op", 981), (2, 0, "small", "cpu_op", 19)) == ["main", ". large"]


def test_no_frames() -> None:
    assert outline().empty


def test_repeated_layers_are_one() -> None:
    layers = [
        row
        for i in range(3)
        for row in (
            (10 * i + 2, 1, f"nn.Module: DecoderLayer_{i}", PYTHON, 1),
            (10 * i + 3, 10 * i + 2, f"nn.Module: Attention_{i}", PYTHON, 6),
            (10 * i + 4, 10 * i + 2, f"nn.Module: Norm_{2 * i}", PYTHON, 3),
            (10 * i + 5, 10 * i + 2, f"nn.Module: Norm_{2 * i + 1}", PYTHON, 3),
        )
    ]
    found = outline(
        MAIN, (1, 0, "model.py(3): forward", PYTHON, 2), *layers, (90, 1, "nn.Module: Head_0", PYTHON, 9)
    )
    assert found[["depth", "name", "duration_ns", "own_ns"]].values.tolist() == [
        [0, "main", 50, 0],
        [1, "model.py(3): forward", 50, 2],
        [2, "nn.Module: DecoderLayer_*", 39, 3],
        [3, "nn.Module: Attention_*", 18, 18],
        [3, "nn.Module: Norm_*", 18, 18],
        [2, "nn.Module: Head_0", 9, 9],
    ]


def test_work_from_before_the_recording_belongs_to_no_call_of_the_file() -> None:
    rows = (
        MAIN,
        (1, 0, "train.py(9): prepare", PYTHON, 20),
        (2, 1, "cudaMemcpyAsync", "cuda_runtime", 10),
        (3, 2, "Memcpy HtoD", "gpu_memcpy", 10),
    )
    assert listed(*rows, (3, 2, "Memcpy HtoD", "gpu_memcpy", 60, "work from before the recording")) == [
        "main",
        ". work from before the recording",
        ". train.py(9): prepare",
        ". . cudaMemcpyAsync",
        ". . . Memcpy HtoD",
    ]
    assert ". . . GPU busy with other work" in listed(
        *rows, (3, 2, "Memcpy HtoD", "gpu_memcpy", 60, "GPU busy with other work")
    )
