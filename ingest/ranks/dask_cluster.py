"""The files of all ranks, read by the workers of a Dask cluster."""

import asyncio
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from tracegraph.base.errors import InputError
from tracegraph.base.parallel import beside
from tracegraph.ingest.ranks.rank_part import Part
from tracegraph.ingest.ranks.reading import Outcomes, ReadAll
from tracegraph.ingest.ranks.worker import Outcome, Task
from tracegraph.ingest.sources.source import Source

PATIENCE_S = 5.0
"""Seconds in which the scheduler must answer, and then have a worker."""
_LONGEST_REASON = 200
"""Characters of an error of the other side that a message shows."""
_INSTALL = "pip install 'tracegraph[dask]'"


def read_on(address: str) -> ReadAll:
    """Make a reader of files on the workers of the Dask cluster at `address` (tls://host:8786).

    The address is that of its scheduler. The workers need tracegraph, and must find the files under the same
    paths or URLs. What they send is unpickled, which runs any code that the owner of the address put into it:
    give only an address that is trusted.

    Raises
    ------
    InputError
        As the reading begins, if dask.distributed is not installed, or if the scheduler is silent or has no
        worker; and later if what comes back is not a part of a run.
    """

    def read_all(tasks: Sequence[Task]) -> Outcomes:
        with _client(address) as client:
            yield from _outcomes(client, address, tasks)

    return read_all


@contextmanager
def _client(address: str) -> Iterator[Any]:
    distributed = _library()
    # A client that cannot connect takes ten more seconds to go.
    asked = beside(lambda: asyncio.run(_answers(distributed, address)))
    if (refused := asked.result()) is not None:
        raise InputError(
            f"the Dask scheduler at {address} cannot be reached: {_said(refused)}",
            "check the address, such as tcp://host:8786, and that `dask scheduler` runs there",
        )
    with distributed.Client(address, timeout=PATIENCE_S, set_as_default=False) as client:
        try:
            client.wait_for_workers(1, timeout=PATIENCE_S)
        except distributed.TimeoutError:  # Python 3.10 has two of these
            raise InputError(
                f"the Dask scheduler at {address} has no worker", f"start one: dask worker {address}"
            ) from None
        yield client


def _library() -> Any:
    try:
        return import_module("distributed")
    except ImportError:
        raise InputError("--scheduler needs dask.distributed, which is not installed", _INSTALL) from None


async def _answers(distributed: Any, address: str) -> Exception | None:
    """Try to reach a Dask scheduler at an address: None if one answers, else the error."""
    try:
        args = distributed.Security().get_connection_args("client")  # of tls:// the files of Dask's settings
        comm = await distributed.comm.connect(address, timeout=PATIENCE_S, **args)
    except Exception as error:  # OSError, ValueError, and anything that a foreign answer causes
        return error
    await comm.close()
    return None


def _said(error: Exception) -> str:
    return " ".join(str(error).split())[:_LONGEST_REASON] or type(error).__name__


def _outcomes(client: Any, address: str, tasks: Sequence[Task]) -> Outcomes:
    futures = {client.submit(Task.outcome, task, pure=False): k for k, task in enumerate(tasks)}
    try:
        for future in _library().as_completed(list(futures), loop=client.loop):
            place = futures.pop(future)
            outcome = _result(future, address)
            future.release()  # the worker need not keep it any longer
            yield place, _explained(outcome, tasks[place].source, address)
    finally:
        client.cancel(list(futures))


def _result(future: Any, address: str) -> Outcome:
    """Return what a worker answered, or an error if it could not answer."""
    try:
        outcome: object = future.result()
    except Exception as error:  # anything may go wrong between here and the worker
        return InputError(
            f"a worker of {address} failed: {_said(error)}",
            f"install the same tracegraph on all workers ({_INSTALL}), and look into their logs",
        )
    if isinstance(outcome, Exception):
        return outcome
    if isinstance(outcome, list) and all(isinstance(one, Part) and one.is_whole for one in outcome):
        return outcome
    return InputError(
        f"a worker of {address} sent what is no part of a run ({type(outcome).__name__})",
        "check whose address it is, and install the same tracegraph on all workers",
    )


def _explained(outcome: Outcome, source: Source, address: str) -> Outcome:
    """Explain an error about a file that is here and not on the worker; keep other outcomes."""
    if not isinstance(outcome, InputError) or source.is_remote or "does not exist" not in outcome.message:
        return outcome
    if not os.path.exists(source.given):
        return outcome
    return InputError(
        f"{source.given} is not there on a worker of {address}",
        "give a path on a disk that all workers share, or a URL",
    )
