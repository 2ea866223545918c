"""Shows on stderr what the workbench warns of."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import click

from tracegraph.workbench.text.text import visible


@contextmanager
def warnings_shown() -> Iterator[None]:
    """Print each warning of the block as one line, once the block has ended well."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", UserWarning)
        yield
    for warning in told:
        click.echo(visible(str(warning.message)), err=True)
