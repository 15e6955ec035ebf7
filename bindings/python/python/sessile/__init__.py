"""Read, search, follow and extend the sessions of coding agents.

Coding agents such as pi keep every conversation in a file of JSON lines, whose entries form a tree. This package opens
these files with Sessile's engine: it reads lazily, writes only by appending, and takes a lock, so you can analyse
sessions while agents write them.

    >>> import sessile
    >>> store = sessile.Store()
    >>> for info in store.list(since="1w", sort="cost", limit=3):
    ...     print(info.cost, info.first_message)
    >>> with sessile.open("@latest") as session:
    ...     for entry in session.branch(roles="user"):
    ...         print(entry.time, entry.text())
"""

from __future__ import annotations

from os import PathLike

from ._errors import (
    AmbiguousError,
    BusyError,
    ChangedError,
    ClosedError,
    EntryNotFoundError,
    LeafMovedError,
    NotASessionError,
    QueryError,
    ReadOnlyError,
    SessileError,
    SessionNotFoundError,
    SettingsError,
    StorageError,
)
from ._frames import to_arrow, to_pandas
from ._records import (
    Branch,
    CompactionInfo,
    Context,
    Family,
    FamilyMember,
    Finding,
    FollowEvent,
    Report,
    SearchHit,
    SessionInfo,
    SessionStats,
    Stats,
    StatsGroup,
    Tally,
    TreeNode,
)
from ._sessile import Entry, EntryIterator, Follower, Message, Session, Store

__all__ = [
    "AmbiguousError",
    "Branch",
    "BusyError",
    "ChangedError",
    "ClosedError",
    "CompactionInfo",
    "Context",
    "Entry",
    "EntryIterator",
    "EntryNotFoundError",
    "Family",
    "FamilyMember",
    "Finding",
    "FollowEvent",
    "Follower",
    "LeafMovedError",
    "Message",
    "NotASessionError",
    "QueryError",
    "ReadOnlyError",
    "Report",
    "SearchHit",
    "SessileError",
    "Session",
    "SessionInfo",
    "SessionNotFoundError",
    "SessionStats",
    "SettingsError",
    "Stats",
    "StatsGroup",
    "StorageError",
    "Store",
    "Tally",
    "TreeNode",
    "create",
    "open",
    "to_arrow",
    "to_pandas",
]


def open(session: str | PathLike[str], *, create: bool = False, read_only: bool = False) -> Session:
    """Open a session of the default store: a path, an id or its beginning, a name, or ``"@latest"``.

    With ``create``, a path that does not exist becomes a new session, whose file is made with the first message.
    """
    return Store().open(session, create=create, read_only=read_only)


def create(cwd: str | PathLike[str], *, id: str | None = None, parent: str | None = None) -> Session:
    """Start a session of the default store for a working directory. Its file is made with the first message."""
    return Store().create(cwd, id=id, parent=parent)
