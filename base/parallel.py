"""A few jobs at once: results in the order in which they end, or one job beside the caller's own work."""

import threading
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def run_all(
    work: Callable[[Item], Result],
    items: Iterable[Item],
    workers: int,
    give_up: Callable[[], None] | None = None,
) -> Generator[Result, None, None]:
    """Yield `work(item)` of all items, in the order in which they end; the first error ends the rest.

    Jobs that have not begun are cancelled after an error. An interrupt calls `give_up`, which has to make the
    running jobs fail soon.
    """
    with ThreadPoolExecutor(workers) as pool:
        jobs = [pool.submit(work, item) for item in items]
        try:
            for job in as_completed(jobs):
                yield job.result()
        except KeyboardInterrupt:
            if give_up is not None:
                give_up()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def beside(work: Callable[[], Result]) -> "Future[Result]":
    """Begin `work` in a thread of its own, for which an interrupted command does not wait."""
    future: Future[Result] = Future()

    def fulfil() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # raised to the one who asks for the result
            future.set_exception(error)

    threading.Thread(target=fulfil, daemon=True).start()
    return future


class Later(Generic[Result]):
    """A job beside the caller's own work, which begins on request or when its result is first needed."""

    def __init__(self, work: Callable[[], Result]) -> None:
        self._work = work
        self._begun: Future[Result] | None = None

    def begin(self) -> "Future[Result]":
        """Begin the job unless it has begun."""
        if self._begun is None:
            self._begun = beside(self._work)
        return self._begun

    def result(self) -> Result:
        """Wait for the result."""
        return self.begin().result()
