"""Jobs at once and jobs beside."""

import subprocess
import sys
import threading
import time

import pytest

from tracegraph.base.parallel import Later, beside, run_all

FOREVER = """
import threading
from tracegraph.base.parallel import beside

beside(threading.Event().wait)
raise KeyboardInterrupt
"""


def test_work_beside_goes_on_meanwhile() -> None:
    begun, told = threading.Event(), threading.Event()

    def answer() -> str:
        begun.set()
        assert told.wait(10)
        return "done"

    future = beside(answer)
    assert begun.wait(10)
    assert not future.done()
    told.set()
    assert future.result(10) == "done"


def test_a_later_job_begins_once_it_is_told_to_or_asked_for() -> None:
    begun: list[int] = []
    told, asked = Later(lambda: begun.append(1)), Later(lambda: begun.append(2))
    assert not begun
    assert told.begin() is told.begin()
    told.result()
    asked.result()
    assert begun == [1, 2]


def test_an_error_beside_reaches_who_asks() -> None:
    def fail() -> None:
        raise ValueError("no such file")

    future = beside(fail)
    with pytest.raises(ValueError, match="no such file"):
        future.result(10)


def test_an_interrupted_command_does_not_wait_for_work_beside() -> None:
    ended = subprocess.run([sys.executable, "-c", FOREVER], capture_output=True, timeout=60, check=False)
    assert b"KeyboardInterrupt" in ended.stderr


def test_the_first_error_ends_the_rest() -> None:
    done = []

    def work(number: int) -> None:
        if number == 0:
            raise ValueError("first")
        time.sleep(0.02)
        done.append(number)

    with pytest.raises(ValueError, match="first"):
        list(run_all(work, range(100), 1))
    assert len(done) < 100
