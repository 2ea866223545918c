"""Answers to the queries of a command: those kept in its workspace, else those of its database."""

from tracegraph.cli.context import Context
from tracegraph.queries.answers import Answers
from tracegraph.store.connection import Database
from tracegraph.store.kept_answers import KeptAnswers
from tracegraph.store.progress import Progress, silent


def answers_for(context: Context, database: Database, progress: Progress = silent) -> Answers:
    """What answers queries in a command that opened this database."""
    return Answers(database, KeptAnswers(context.workspace, context.connection, database), progress)
