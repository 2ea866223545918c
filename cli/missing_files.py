"""Refuses a file that is not there before a command is imported: pandas and the driver take two seconds."""

import glob
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from tracegraph.base.errors import InputError
from tracegraph.ingest.sources.source import as_source
from tracegraph.store.places import default_root, folder_name, runs_folder

_TRACES = ("ingest", "doctor", "health", "report")
"""The commands whose every argument is a trace."""
_FIRST_ONLY = "convert"
"""The command whose first argument is a trace; the second is to be written."""
_OR_RUNS = ("report", "diff")
"""The commands that know the names of stored runs, too."""


def refuse_missing(command: str, words: Sequence[str], workspace: Path | None, *, is_own: bool) -> None:
    """Refuse an argument of a command that certainly names a file, which is not there.

    Whatever is not certain is left to the command: patterns, URLs, names of runs, and a word after an option,
    which may be its value.

    Parameters
    ----------
    words
        The words after the command.
    workspace
        The workspace, None for the default.
    is_own
        Whether the database is the workspace's own, so that every run has a folder.

    Raises
    ------
    InputError
        There is no such file.
    """
    for word in named_files(command, words):
        is_run = command in _OR_RUNS and (not is_own or _is_kept(word, workspace))
        if not is_run and _is_missing(as_source(word).given):
            raise InputError(f"{word} does not exist", "check the spelling of the path")


def named_files(command: str, words: Sequence[str]) -> Iterator[str]:
    """Yield the words that are files for certain."""
    for place, word in enumerate(words):
        if word == "--":
            return
        is_value = word.startswith("-") or (place > 0 and words[place - 1].startswith("-"))
        looks_like_path = os.sep in word or word.lower().endswith((".json", ".gz", ".parquet"))
        if is_value or not word.strip() or glob.has_magic(word) or as_source(word).is_remote:
            continue
        first = command == _FIRST_ONLY and place == 0
        if command in _TRACES or first or (command == "diff" and looks_like_path):
            yield word


def _is_missing(path: str) -> bool:
    try:
        os.lstat(path)
    except FileNotFoundError:
        return True
    except (OSError, ValueError):  # the command says what is wrong with it
        return False
    return False


def _is_kept(run: str, workspace: Path | None) -> bool:
    """Tell whether a workspace keeps a run of that name."""
    root = (workspace or default_root()).expanduser()
    try:
        return (runs_folder(root) / folder_name(run)).exists()
    except OSError:  # a name that is too long
        return False
