"""What the section on the run says of the job: what was stated at ingest, what counts instead, its pace."""

from dataclasses import replace

import pandas as pd
from report_data import make_findings

from tracegraph.queries.shapes.peak.job import Job
from tracegraph.workbench.sections.blocks import Words
from tracegraph.workbench.sections.run import SECTION

STEPS = pd.DataFrame(
    {
        "rank": [0, 0, 1, 1],
        "number": [3, 4, 3, 4],
        "start_ns": [0, 100_000_000, 0, 100_000_000],
        "window_end_ns": [110_000_000, 190_000_000, 110_000_000, 200_000_000],
    }
)


def said(job: Job, at_ingest: Job) -> list[str]:
    findings = replace(make_findings(), steps=STEPS, job=job, job_at_ingest=at_ingest)
    return [one.text for one in SECTION.content(findings) if isinstance(one, Words)][1:]


def test_the_pace_is_that_of_the_slowest_rank() -> None:
    assert said(Job(batch=32, tokens=65_536), Job()) == [
        "Now it does 320 samples and 655,400 tokens a second, over 2 steps of 100.000 ms in the mean."
    ]


def test_what_was_stated_and_what_counts_instead() -> None:
    at_ingest = Job(gpus=64, model="{}", device="H100\x1b[31m")
    assert said(replace(at_ingest, gpus=32), at_ingest) == [
        "Said of the job at ingest: gpus 64, a model's config, device H100\\x1b[31m.",
        "As given now, gpus 32 counts; at ingest it was gpus 64.",
    ]


def test_nothing_is_said_of_a_job_that_nobody_stated() -> None:
    assert said(Job(), Job()) == []
