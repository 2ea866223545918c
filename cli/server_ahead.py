"""Begins the server of a report while the command is imported, which takes half as long as that start."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from tracegraph.base.errors import TracegraphError
from tracegraph.cli.missing_files import named_files
from tracegraph.ingest.sources.source import as_source


def begin_server(command: str, words: Sequence[str], options: Mapping[str, Any]) -> None:
    """Begin the managed server if the command is a report on small traces, which are going to be added to it.

    What is not certain is left to the command: `--load`, a server elsewhere, and one that would not stay,
    as a command that is refused would leave it for longer.

    Parameters
    ----------
    words
        The words after the command.
    options
        The global options by name.
    """
    if command != "report" or "--load" in words or options.get("uri") is not None:
        return
    if not (files := list(named_files(command, words))):
        return
    # Imported here: no other command needs them so early.
    from tracegraph.store.managed.server.ahead import AHEAD_S, begin_ahead  # noqa: PLC0415
    from tracegraph.store.workspace import open_workspace  # noqa: PLC0415
    from tracegraph.workbench.methods.server_ahead import needs_server  # noqa: PLC0415

    linger_s = 60.0 * options["linger"]
    if linger_s < AHEAD_S:
        return
    with suppress(TracegraphError, OSError):  # the command says what is wrong with the workspace
        workspace = open_workspace(options.get("workspace"), linger_s)
        if needs_server(workspace, [as_source(file) for file in files]):
            begin_ahead(workspace)
