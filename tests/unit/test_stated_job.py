"""What a user says of a job: joined, written, read again and compared."""

from pathlib import Path

from tracegraph.queries.shapes.peak.job import NOTHING_SAID, Job, read_job


def test_what_is_said_now_counts_more() -> None:
    assert Job(gpus=8).over(Job(gpus=4, tokens=10)) == Job(gpus=8, tokens=10)
    assert NOTHING_SAID.over(Job(gpus=4)) == Job(gpus=4)


def test_a_run_keeps_it_with_the_text_of_the_config(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text('{"hidden_size": 8}')
    job = Job(gpus=4, model=str(config), device="H100")
    assert read_job(job.text()) == Job(gpus=4, model='{"hidden_size": 8}', device="H100")
    assert NOTHING_SAID.text() is None
    assert read_job(None) == NOTHING_SAID
    assert list(job.instead_of(read_job(job.text()))) == []


def test_what_counts_instead_is_said() -> None:
    now = Job(gpus=8, tokens=10, model='{"hidden_size": 16}', device="H200")
    assert list(now.instead_of(Job(gpus=4, tokens=10, model='{"hidden_size": 8}'))) == [
        "As given now, gpus 8 counts; at ingest it was gpus 4.",
        "As given now, another model's config counts than at ingest.",
    ]
