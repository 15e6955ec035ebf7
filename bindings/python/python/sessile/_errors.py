"""Exceptions, with the sentences of the engine."""

from __future__ import annotations

from pathlib import Path


class SessileError(Exception):
    """An operation failed. The session is unchanged."""


class SessionNotFoundError(SessileError, FileNotFoundError):
    """No session has this path, id or name."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class StorageError(SessileError, OSError):
    """A file could not be read or written. ``errno`` and ``filename`` say more, if the system does."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class EntryNotFoundError(SessileError, LookupError):
    """No entry of the session has this id."""


class NotASessionError(SessileError, ValueError):
    """The file is not a session."""


class AmbiguousError(SessileError, ValueError):
    """Several sessions match. ``candidates`` has the paths of some of them."""

    candidates: list[Path] = []


class LeafMovedError(SessileError):
    """Another program has appended: the last entry is ``actual``, not ``expected``. Nothing was written."""

    expected: str | None = None
    actual: str | None = None


class BusyError(SessileError):
    """Another program uses the session."""


class ReadOnlyError(SessileError):
    """The session cannot be written."""


class ChangedError(SessileError):
    """Another program has rewritten the file. ``Session.refresh(follow=True)`` reads it again."""


class ClosedError(SessileError, ValueError):
    """The session is closed."""


class QueryError(SessileError, ValueError):
    """The search query is invalid."""


class SettingsError(SessileError):
    """The user's settings cannot be read."""
