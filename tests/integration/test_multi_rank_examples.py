"""The examples that train run from the recording to the measured gain, and name what they are about."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
LIMIT_S = 600
ABORTED = "terminate called without an active exception"
"""What a rank says whose threads in torch abort it as it ends: rare, at no fault of the example."""
needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
pytestmark = pytest.mark.exhaustive


def run_example(name: str, *arguments: Path) -> str:
    """What an example prints into the folder named last; once more in another where torch aborted a rank."""
    done = _run(name, *arguments)
    if done.returncode and ABORTED in done.stdout + done.stderr:
        done = _run(name, *arguments[:-1], arguments[-1].with_name("again"))
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _run(name: str, *arguments: Path) -> "subprocess.CompletedProcess[str]":
    """Run an example: the tools of this test's environment come first, and one server serves it."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = [EXAMPLES / name / "run.sh", *arguments]
    return subprocess.run(
        command,
        env={**os.environ, "PATH": path, "TRACEGRAPH_LINGER": "10"},
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )


def rows_after(said: str, question: str) -> list[list[str]]:
    """The cells of the first table that a question of common/cypher printed."""
    answer = said.split(f"{question}.cypher", 1)[1].split("\n$ ", 1)[0]
    rows = [line.split() for line in answer.splitlines() if line.strip()]
    return [row for row in rows if row[0].isdigit()]


def times_as_fast(said: str) -> list[float]:
    """The measured ratios, in the order in which they were compared."""
    return [float(ratio) for ratio in re.findall(r"^measured .* ([\d.]+) \[[\d.]+–[\d.]+\]$", said, re.M)]


@needs_torch
def test_the_late_rank_and_its_cause_are_named(tmp_path: Path) -> None:
    said = run_example("ddp_straggler", tmp_path / "study")
    assert rows_after(said, "last_to_arrive")[0][0] == "1"
    assert rows_after(said, "waited_for_ranks")[0][0] == "0"
    assert "decode text,user_annotation," in said
    assert times_as_fast(said)[0] > 1.2


@needs_torch
def test_accumulation_leaves_a_quarter_of_the_all_reduces(tmp_path: Path) -> None:
    said = run_example("ddp_communication", tmp_path / "study")
    before, _, accumulated = (
        int(rows_after(part, "collectives")[0][2]) for part in said.split("cypher --run ")[1:]
    )
    assert before == 4 * accumulated
    assert times_as_fast(said)[-1] > 1


@needs_torch
def test_plain_python_is_worth_what_is_predicted_and_a_readback_where_it_is_found(tmp_path: Path) -> None:
    said = run_example("host_loop", tmp_path / "study")
    compared = re.findall(r"^predicted .* ([\d.]+) \([\d.]+ to [\d.]+\)$", said, re.M)
    assert len(compared) == len(times_as_fast(said)) == (1 if "No wait was found" in said else 2)
    assert float(compared[0]) > 1.1


@needs_torch
def test_a_pipelines_bubble_is_what_the_job_measured_itself(tmp_path: Path) -> None:
    said = run_example("pipeline", tmp_path / "study")
    shares = [
        [float(share) for share in row]
        for row in re.findall(r"^\d +([\d.]+)% +([\d.]+)% +([\d.]+)%$", said, re.M)
    ]
    assert len(shares) == 3 * 4
    assert all(abs(told - own) < 1 for told, own, _ in shares)
    even, uneven = shares[:8], shares[8:]
    assert all(formula == 27.3 and -1 < told - formula < 10 for told, _, formula in even)
    assert uneven[3][0] < min(told for told, *_ in uneven[:3]) - 10  # all wait for the last stage


@needs_torch
def test_waiting_is_told_from_transfer_in_the_layer_that_is_late_on_one_rank(tmp_path: Path) -> None:
    said = run_example("tensor_parallel", tmp_path / "study")
    before = said.split("largest difference", 1)[0]
    rows = re.findall(r"^(\d) +(\d) +(\w+) .*% +([\d.]+) +([\d.]+) +[\d.]+ +[\d.]+$", before, re.M)
    waited = {(int(rank), int(layer), phase): float(told) for rank, layer, phase, told, _ in rows}
    assert len(waited) == 2 * 4 * 2
    for phase, late_ms in (("forward", 40), ("backward", 80)):
        others, itself = waited[0, 2, phase], waited[1, 2, phase]
        assert others > late_ms / 2 > itself
    (gained,) = re.findall(r"^predicted .* ([\d.]+) \([\d.]+ to [\d.]+\)$", said, re.M)
    assert float(gained) > 1.1
    assert times_as_fast(said)[0] > 1.1


@needs_torch
def test_kept_parameters_are_gathered_once(tmp_path: Path) -> None:
    said = run_example("fsdp", tmp_path / "study")
    before, kept = (int(rows_after(part, "collectives")[0][2]) for part in said.split("cypher --run ")[1:])
    assert 9 * kept == 5 * before


@needs_torch
def test_zero_runs_or_says_why_not(tmp_path: Path) -> None:
    said = run_example("deepspeed_zero", tmp_path / "study")
    if find_spec("deepspeed") is None:
        pytest.skip(said.strip())
    assert {row[1] for row in rows_after(said, "collectives")} == {"gloo:all_gather", "gloo:all_reduce"}
    assert len(times_as_fast(said)) == 1


def test_the_late_rank_of_tensor_parallel_training(
    tmp_path: Path, shared_trace: Callable[[str], Path]
) -> None:
    said = run_example("megatron", shared_trace("a2_megatron_tp2_v100_2rank"), tmp_path / "study")
    assert rows_after(said, "last_to_arrive")[0][0] == "0"
    assert rows_after(said, "waited_for_ranks")[0][0] == "1"


def test_without_traces_it_says_what_it_needs(tmp_path: Path) -> None:
    assert "skipped: " in run_example("megatron", tmp_path)
