"""Which of several calls with one correlation id launched the work."""

import tiny

CALLS = [tiny.call("cudaLaunchKernel", start, start + 2, 5) for start in (10, 20, 30)]


def test_the_last_call_before_the_work_is_taken_else_the_first() -> None:
    other = [tiny.call("cudaLaunchKernel", 21, 22, 6), tiny.kernel("o", 70, 71, 6)]
    work = [tiny.kernel("k", at, at + 1, 5) for at in (5, 10, 25, 30, 60)]
    model = tiny.model(*CALLS, *other, *work)
    assert model.launches.call[5:].tolist() == [0, 0, 1, 2, 2]
    assert model.launches.call[4] == 3
