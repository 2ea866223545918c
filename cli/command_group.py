"""A group of commands that knows which one is meant where none has the name that was given."""

import click

from tracegraph.base.errors import InputError
from tracegraph.base.suggest import did_you_mean


class CommandGroup(click.Group):
    """Commands below a common word; a wrong name is answered with the one spelt most like it."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the first word names.

        Raises
        ------
        InputError
            There is no such command; the hint names the one that may have been meant.
        """
        name = args[0]
        known = ctx.resilient_parsing or name.startswith("-") or self.get_command(ctx, name) is not None
        if not known:
            names = self.list_commands(ctx)
            few = f"; there are {', '.join(names)}" if ctx.parent is not None else ""
            hint = did_you_mean(name, names, f"{ctx.command_path} -h lists the commands{few}")
            raise InputError(f"No such command {name!r}", hint)
        return super().resolve_command(ctx, args)
