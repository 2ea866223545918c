"""A few jobs at once, results as they come, nothing new started after a failure."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def run_all(
    work: Callable[[Item], Result],
    items: Iterable[Item],
    workers: int,
    give_up: Callable[[], None] | None = None,
) -> Iterator[Result]:
    """Yield `work(item)` of all items, in the order in which they end; the first error ends the rest.

    An interrupt calls `give_up`, which makes the jobs that run fail soon.
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
