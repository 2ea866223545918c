"""The examples that train run from the recording to the measured gain, and name what they are about."""

import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from run_examples import needs_torch, rows_after, run_example, times_as_fast

pytestmark = pytest.mark.exhaustive


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
