"""Errors a user can act on: each names the thing, the value and the next step, and has an exit code."""


class TracegraphError(Exception):
    """The base of every error that reaches a user as one line; `hint` says what to do next."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message


class InputError(TracegraphError):
    """The given trace, name or option cannot be used."""

    exit_code = 2


class StoreError(TracegraphError):
    """The database, its installation or the workspace is not usable."""

    exit_code = 3
