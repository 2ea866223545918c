"""Which kills `python -m benchmarks.crash` tries next, from what its file says was tried."""

from pathlib import Path

from crash_steps import Step, Trial

from benchmarks.crash.describe import describe
from benchmarks.crash.order import site_of, still_to_try
from benchmarks.crash.record import Record, Tried

STEPS = {
    "stored": [Step("load.save", "open", number, java_runs=True) for number in (1, 2, 3, 4)]
    + [Step("load.save", "commit", 1, java_runs=True), Step("load.begin", "open", 1)],
    "deleted": [Step("load.remove", "statement", 1, java_runs=True), Step("load.remove", "os.rmdir", 1)],
}
SITES = 5


def tried(way: str, trial: Trial, failure: str = "", commit: str = "abc") -> Tried:
    return Tried(way, trial, commit, 1.0, failure)


def test_each_site_comes_once_before_any_comes_again() -> None:
    todo = still_to_try(STEPS, [], "abc")
    sites = [site_of(way, trial) for way, trial in todo]
    assert len(set(sites[:SITES])) == SITES == len(set(sites))
    assert [way for way, _ in todo[:4]] == ["stored", "deleted", "stored", "deleted"]
    assert len(todo) == len(set(todo)) == 3 * 3 + 3 + 1 + 3 + 1  # of four steps of a kind three are tried


def test_what_was_tried_is_not_tried_again_unless_it_did_harm_at_another_commit() -> None:
    todo = still_to_try(STEPS, [], "abc")
    done = [tried(*item) for item in todo[:3]] + [tried(*todo[3], failure="lost", commit="old")]
    assert set(still_to_try(STEPS, done, "abc")) == set(todo[3:])
    assert set(still_to_try(STEPS, done, "old")) == set(todo[4:])
    assert still_to_try(STEPS, [tried(*item) for item in todo], "new") == []


def test_the_file_goes_on_where_it_was_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "made" / "state.jsonl"
    record = Record(path)
    for way, steps in STEPS.items():
        record.add_steps(way, "abc", steps)
    todo = still_to_try(STEPS, [], "abc")
    record.add(tried(*todo[0]))
    record.add(tried(*todo[1], failure="the run first is lost"))
    path.write_text(path.read_text() + '{"way": "stor')
    again = Record(path)
    again.add(tried(*todo[2]))
    again = Record(path)
    assert again.tried == [
        tried(*todo[0]), tried(*todo[1], failure="the run first is lost"), tried(*todo[2])
    ]  # fmt: skip
    assert {way: again.steps(way) for way in STEPS} == STEPS
    text = describe(again, list(STEPS), "2 cores")
    assert "3 at abc" in text
    assert "| stored | 3 | 2 | 13 | 2 | 0 |" in text
    assert "| all | 5 | 3 | 17 | 3 | 1 |" in text
    assert "the run first is lost" in text


def test_another_machine_goes_on_from_the_kills_that_were_kept(tmp_path: Path) -> None:
    kept, todo = tmp_path / "tried.jsonl", still_to_try(STEPS, [], "abc")
    first = Record(tmp_path / "first.jsonl", kept)
    first.add_steps("stored", "abc", STEPS["stored"])
    first.add(tried(*todo[0]))
    first.keep_tried(kept)
    second = Record(tmp_path / "second.jsonl", kept)
    assert second.tried == [tried(*todo[0])]
    assert second.steps("stored") == []
