"""Files behind a URL, through fsspec; an error of its driver becomes one line."""

from typing import Any

import fsspec

from tracegraph.base.errors import InputError
from tracegraph.base.suggest import did_you_mean
from tracegraph.ingest.sources.source import protocol, shown_url
from tracegraph.ingest.sources.web import refused_by_server, web_options

_DRIVERS = {
    "s3": "s3fs",
    "s3a": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "abfs": "adlfs",
    "abfss": "adlfs",
    "az": "adlfs",
    "adl": "adlfs",
    "hf": "huggingface_hub",
    "http": "aiohttp",
    "https": "aiohttp",
    "sftp": "paramiko",
    "ssh": "paramiko",
}
"""The package of the driver for usual protocols; for others fsspec's own error names it."""
_LONGEST_REASON = 200
"""Characters of a driver's error that a message shows."""


def open_remote(url: str) -> tuple[Any, str]:
    """Open the file system of a URL, and return it with the path there.

    Raises
    ------
    InputError
        If no driver knows the protocol, if it is not installed, or if it refuses the URL.
    """
    try:
        system, path = fsspec.core.url_to_fs(url, **web_options(url))
    except ImportError as error:
        package = _DRIVERS.get(protocol(url))
        hint = f"pip install {package}" if package else str(error).rstrip(".")
        raise InputError(f"the driver for {protocol(url)}:// is not installed", hint) from None
    except Exception as error:  # a driver may raise anything
        if protocol(url) in fsspec.available_protocols():
            raise refusal(url, error) from None
        listed = "fsspec opens s3://, gs://, https:// and many more"
        hint = did_you_mean(protocol(url), fsspec.available_protocols(), listed)
        raise InputError(f"no driver knows {protocol(url)}://", hint) from None
    return system, str(path)


def refusal(url: str, error: BaseException) -> InputError:
    """Make the error for a URL that cannot be read: its driver's message on one line, without secrets."""
    if isinstance(error, InputError):
        return error
    refused = refused_by_server(url, error)
    if refused is not None:
        return refused
    shown = shown_url(url)
    if isinstance(error, FileNotFoundError):
        return InputError(
            f"{shown} does not exist", "check the spelling of the URL, and that its server can be reached"
        )
    said = " ".join(str(error).replace(url, shown).split()) or type(error).__name__
    return InputError(
        f"{shown} cannot be read: {said[:_LONGEST_REASON]}", "check the URL, the network and your credentials"
    )
