"""Python frames that end with the recording although their callers went on."""

from collections.abc import Sequence

import numpy as np

from tracegraph.ingest.readers.kineto.event_table import close_frames


def closed(*frames: tuple[int, int, int, int], processes: Sequence[int] = ()) -> list[int]:
    """Ends of frames given as (number, number of the caller, start, end), of one process unless given."""
    number, caller, start, end = np.array(frames, dtype=np.int64).T
    known = np.ones(len(frames), dtype=bool)
    process = np.array(processes or [0] * len(frames), dtype=np.int64)
    return close_frames(start, end, process, (number, known), (caller, known)).tolist()


def test_a_frame_returns_before_its_caller_does() -> None:
    assert closed((1, 0, 0, 100), (2, 1, 10, 40), (3, 2, 20, 100)) == [100, 40, 40]


def test_a_frame_returns_before_its_caller_calls_the_next_one() -> None:
    assert closed((1, 0, 0, 100), (2, 1, 10, 100), (3, 2, 20, 100), (4, 1, 50, 60)) == [100, 50, 50, 60]


def test_frames_that_were_open_when_the_recording_ended_stay() -> None:
    assert closed((1, 0, 0, 100), (2, 1, 10, 30), (3, 1, 40, 100)) == [100, 30, 100]


def test_frames_of_another_process_with_the_same_numbers_close_nothing() -> None:
    first, second = [(1, 0, 0, 100), (2, 1, 10, 100)], [(1, 0, 0, 40), (3, 1, 20, 30)]
    assert closed(*first, *second, processes=[7, 7, 8, 8]) == [100, 100, 40, 30]
