"""What changed between two states of the project in what reports say first."""

from pathlib import Path

from benchmarks.accuracy.verdicts import Said, chosen_inputs, describe_changes, save, saved

ROOT = Path(__file__).resolve().parents[2]


def said(name: str, *sentences: str) -> Said:
    return Said(name, "gpu", list(sentences), "none")


def test_a_row_for_each_verdict_that_changed_with_its_reason(tmp_path: Path) -> None:
    save([said("a", "The CPU."), said("b", "The GPU.")], tmp_path / "before.json")
    before = saved(tmp_path / "before.json")
    after = [said("a", "Nobody", "knows."), said("b", "The GPU."), said("new", "x")]
    assert describe_changes(before, after, {"a": "It waited."}).splitlines() == [
        "1 of 3 verdicts changed.",
        "",
        "| file | before | after | why |",
        "| --- | --- | --- | --- |",
        "| a | gpu: The CPU. | gpu: Nobody knows. | It waited. |",
    ]


def test_nothing_changed_is_said_without_a_table() -> None:
    assert describe_changes([said("a", "x")], [said("a", "x")], {}) == "0 of 1 verdicts changed."


def test_files_of_a_job_are_one_input(tmp_path: Path) -> None:
    job = tmp_path / "a2_megatron_small"
    job.mkdir()
    for name in (job / "rank0.json", job / "rank1.json", tmp_path / "alone.json"):
        name.write_text("{}")
    found = {one.name: one.trace.name for one in chosen_inputs(tmp_path / "none", [tmp_path])}
    assert found == {"a2_megatron_small/rank0.json and 1 more": "*.json*", "alone.json": "alone.json"}
