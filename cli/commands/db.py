"""`tracegraph db`: the database itself."""

import click

from tracegraph.base.units import format_bytes
from tracegraph.cli.command_group import CommandGroup
from tracegraph.cli.context import Context, pass_context
from tracegraph.store.compacting import compact
from tracegraph.store.connection import connect
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.managed.server.server import ServerState
from tracegraph.store.session import find_server, open_database, start_server, stop_server

_COMPONENTS = """
CALL dbms.components() YIELD versions, edition
RETURN versions[0] AS version, edition
"""
_COUNTS = """
OPTIONAL MATCH (run:Run {state: 'ready'})
WITH count(run) AS runs
RETURN runs, COUNT { () } AS nodes, COUNT { ()-->() } AS relationships
"""


@click.group(cls=CommandGroup)
def db() -> None:
    """Start, stop and inspect the database."""


@db.command()
@pass_context
def start(context: Context) -> None:
    """Start the managed Neo4j and keep it running after this command."""
    if context.connection.uri is not None:
        _say_external(context.connection)
        return
    with context.progress() as progress:
        state = start_server(context.workspace, progress)
    _describe(context, state)


@db.command()
@pass_context
def stop(context: Context) -> None:
    """Stop the managed Neo4j."""
    if context.connection.uri is not None:
        _say_external(context.connection)
        return
    click.echo("stopped" if stop_server(context.workspace) else "not running")


@db.command()
@pass_context
def status(context: Context) -> None:
    """Say whether the database runs; starts nothing."""
    if context.connection.uri is not None:
        with connect(context.connection):
            click.echo(f"reachable: {context.connection.uri}")
        return
    state = find_server(context.workspace)
    if state is None:
        click.echo("not running: it is started on demand, or with `tracegraph db start`")
    else:
        click.echo(f"running, process {state.pid}, " + ("kept" if state.keep else "for another command"))
        _describe(context, state)


@db.command("compact")
@pass_context
def compact_database(context: Context) -> None:
    """Give back the space of deleted runs: make the database anew from the kept ones."""
    if context.connection.uri is not None:
        _say_external(context.connection)
        return
    with context.progress() as progress:
        done = compact(context.workspace, progress)
    click.echo(f"{format_bytes(done.before_bytes)} before, {format_bytes(done.after_bytes)} after")


@db.command()
@pass_context
def info(context: Context) -> None:
    """Show the server's version and what the database holds."""
    with (
        context.progress() as progress,
        open_database(context.workspace, context.connection, progress) as database,
    ):
        component = database.read(_COMPONENTS).iloc[0]
        counts = database.read(_COUNTS).iloc[0]
    if context.connection.uri is None:
        click.echo(f"managed Neo4j of the workspace {context.workspace.root}")
    else:
        _say_external(context.connection)
    click.echo(f"version        {component['version']} {component['edition']}")
    for name in ("runs", "nodes", "relationships"):
        click.echo(f"{name:<14} {counts[name]}")


def _describe(context: Context, state: ServerState) -> None:
    click.echo(f"bolt           {state.ports.uri}")
    click.echo(f"user           {state.ports.username}")
    click.echo(f"password in    {context.workspace.password_file}")
    click.echo(f"Neo4j Browser  {state.ports.browser or 'not served: this server began for one command'}")


def _say_external(connection: ConnectionSettings) -> None:
    click.echo(f"external server {connection.uri}: tracegraph neither starts nor stops it")
