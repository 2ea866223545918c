"""The command line: global options, commands imported when called, and the printing of errors.

Shell completion: `eval "$(_TRACEGRAPH_COMPLETE=bash_source tracegraph)"`, likewise zsh_source, fish_source.
"""

import logging
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from tracegraph.base.errors import InputError, TracegraphError
from tracegraph.cli.broken_pipe import drop_output, is_output_gone
from tracegraph.cli.command_group import CommandGroup
from tracegraph.cli.missing_files import refuse_missing
from tracegraph.cli.server_ahead import begin_server
from tracegraph.cli.streams import open_streams, output_problem
from tracegraph.cli.system_errors import output_refused, refusal_of_system
from tracegraph.store.managed.server.linger import LINGER, LINGER_MINUTES
from tracegraph.workbench.text.text import visible

COMMANDS = {
    "report": "Say what determined the length of a run or step, from traces or a stored run.",
    "ingest": "Store traces as a run.",
    "attach": "Add files that explain a run, such as a log of NCCL.",
    "runs": "List, show and delete stored runs.",
    "what-if": "Predict what is gained where something takes less time.",
    "plan": "Say which fixes to make, and what several gain together.",
    "diff": "Say what differs between two runs, ranks or steps, and what decides the length.",
    "health": "Judge traces by thresholds, without a database: for CI.",
    "memory": "Say what fills the memory, from snapshots and timelines, without a database.",
    "verify": "Compare a run with what a scenario predicted of it.",
    "query": "Run one of the named queries, or list them.",
    "cypher": "Run a Cypher query of your own.",
    "render": "Draw a part of the graph.",
    "convert": "Write a trace in another format, without loss.",
    "db": "Start, stop and inspect the database.",
    "doctor": "Say what a trace lost, or what is installed and works.",
}
"""Every command, with its line in the help; `NAME` is in the module `commands/NAME.py`, with `_` for `-`."""
_LOG = logging.getLogger("tracegraph")
_LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)
"""The level of logging by how many times -v is given."""
_HELP = ("-h", "--help")
_HELP_ASKED = "tracegraph.help_asked"
_SAY_MORE = "say_more"
"""The name of -v as an option of a command."""
_INTERRUPTED = 130
"""The exit code of shells for a program that SIGINT ended: 128 + 2."""


class CommandTable(CommandGroup):
    """The commands of `COMMANDS`; each is imported only when it is called, so that the help comes at once."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the global options and note whether the help of a command is asked for."""
        rest = super().parse_args(ctx, args)
        ctx.meta[_HELP_ASKED] = any(word in _HELP for word in rest)
        return rest

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the names of the commands in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the command of that name; None if there is none."""
        if cmd_name not in COMMANDS:
            return None
        module = cmd_name.replace("-", "_")
        command = getattr(import_module(f"tracegraph.cli.commands.{module}"), module)
        assert isinstance(command, click.Command)
        _let_say_more(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the first word names; a file that is not there is refused at once."""
        if not ctx.resilient_parsing and not ctx.meta[_HELP_ASKED]:
            is_own = ctx.params.get("uri") is None
            refuse_missing(args[0], args[1:], ctx.params.get("workspace"), is_own=is_own)
            begin_server(args[0], args[1:], ctx.params)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; it ends quietly if nobody reads its output on, where click would let it fail."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            if not is_output_gone():
                raise
            drop_output()
            return 0

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete commands and global options, without importing the commands."""
        named = [
            CompletionItem(name, help=line) for name, line in COMMANDS.items() if name.startswith(incomplete)
        ]
        return [*named, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _let_say_more(command: click.Command) -> None:
    """Let a command take -v after its name, too, and those of a group as well."""
    if not any(option.name == _SAY_MORE for option in command.params):
        command.params.append(
            click.Option(
                ["-v", "--verbose", _SAY_MORE],
                count=True,
                is_eager=True,
                expose_value=False,
                callback=_say_more,
                help="As before the command.",
            )
        )
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        _let_say_more(inner)


def _say_more(ctx: click.Context, option: click.Parameter, count: int) -> None:
    """Count a -v that stands after the command together with those before it."""
    if count and ctx.obj is not None:
        ctx.obj = replace(ctx.obj, verbose=ctx.obj.verbose + count)
        _set_level(ctx.obj.verbose)


def _set_level(verbose: int) -> None:
    _LOG.setLevel(_LEVELS[min(verbose, len(_LEVELS) - 1)])


def _folder(ctx: click.Context, option: click.Parameter, folder: str | None) -> Path | None:
    """Turn the option into a path; refuse an empty name, which would be the current folder."""
    if folder is not None and not folder.strip():
        raise InputError(f"{option.opts[0]} names no folder", "give one, or . for the current folder")
    return None if folder is None else Path(folder)


@click.group(cls=CommandTable, context_settings={"help_option_names": list(_HELP)})
@click.version_option(package_name="tracegraph")
@click.option(
    "--workspace",
    type=click.Path(file_okay=False),
    callback=_folder,
    envvar="TRACEGRAPH_WORKSPACE",
    show_envvar=True,
    help="Folder for the database and the stored runs.",
)
@click.option(
    "--uri",
    envvar="NEO4J_URI",
    show_envvar=True,
    help="Address of a Neo4j server, such as bolt://localhost:7687; without it tracegraph runs its own.",
)
@click.option("--username", envvar="NEO4J_USERNAME", show_envvar=True, default="neo4j", help="User at --uri.")
@click.option("--password", envvar="NEO4J_PASSWORD", show_envvar=True, default="", help="Password at --uri.")
@click.option("--database", envvar="NEO4J_DATABASE", show_envvar=True, help="Database at --uri.")
@click.option(
    "--linger",
    type=click.FloatRange(min=0.0),
    envvar=LINGER,
    show_envvar=True,
    metavar="MINUTES",
    default=LINGER_MINUTES,
    show_default=True,
    help="How long tracegraph's own Neo4j stays after its last use, for the next command to be fast.",
)
@click.option("-v", "--verbose", count=True, help="Say more; with an error, show where it arose.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
@click.pass_context
def cli(
    ctx: click.Context,
    /,
    *,
    workspace: Path | None,
    linger: float,
    verbose: int,
    quiet: bool,
    **connection: str | None,
) -> None:
    """Why is this training step slow? Profiler traces as a causal graph in Neo4j."""
    logging.basicConfig(format="%(message)s")
    _set_level(verbose)
    # The driver logs each error and retry; a failure ends the command with a line of its own.
    logging.getLogger("neo4j").setLevel(logging.CRITICAL)
    if ctx.meta[_HELP_ASKED]:
        return  # the help of a command needs no workspace
    # Imported here: the help must not wait for pandas and the driver.
    from rich.console import Console  # noqa: PLC0415

    from tracegraph.cli.context import Context  # noqa: PLC0415
    from tracegraph.store.connection_settings import ConnectionSettings  # noqa: PLC0415

    settings = ConnectionSettings(
        connection["uri"], connection["username"] or "", connection["password"] or "", connection["database"]
    )
    ctx.obj = Context(workspace, 60.0 * linger, settings, Console(stderr=True), quiet, verbose)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line (default: this process's) and return its exit code.

    Returns
    -------
    int
        0 done; 1 unexpected error; 2 a trace, name or option that cannot be used; 3 the database or the
        workspace; 130 interrupted or terminated. `diff`, `what-if` and `verify` also return 1 if a limit is
        exceeded or a prediction does not hold, `doctor` if a finding is an error, `health` if a check failed.
    """
    # A command that gets SIGTERM cleans up, like one that is interrupted.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        open_streams()
        code = cli.main(arguments, prog_name="tracegraph", standalone_mode=False)
        sys.stdout.flush()
    except TracegraphError as error:
        code = _fail(error, str(error), error.exit_code)
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("tracegraph: interrupted", err=True)
        code = _INTERRUPTED
    except BrokenPipeError:  # at the last flush
        drop_output()
        code = 0
    except Exception as error:
        code = _fail_without_name(error)
    return code if isinstance(code, int) else 0


def _fail_without_name(error: Exception) -> int:
    """Report what the system refused, or else the unexpected error, and return the exit code."""
    refused = refusal_of_system(error)
    nameless = isinstance(error, OSError) and error.filename is None
    if nameless and (problem := output_problem()) is not None:
        drop_output()
        refused = output_refused(problem)
    if refused is not None:
        return _fail(error, str(refused), refused.exit_code)
    return _fail(error, f"unexpected {type(error).__name__}: {error}; run tracegraph -v to see where", 1)


def _fail(error: Exception, text: str, code: int) -> int:
    _LOG.info("", exc_info=error)
    click.echo(f"tracegraph: {visible(' '.join(text.split()))}", err=True)
    return code
