"""Results: plain values that do not refer to open files."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pandas as _pd  # type: ignore[import-untyped, import-not-found, unused-ignore]
    import pyarrow as _pa  # type: ignore[import-untyped, import-not-found, unused-ignore]

    from ._sessile import Entry, EntryIterator, Message


class Record:
    """A result with named fields."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dict; records in them become dicts, too."""
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


@dataclass(frozen=True, slots=True)
class SessionInfo(Record):
    """One session of a list."""

    path: Path
    id: str
    #: The working directory in its header, or empty.
    cwd: str
    name: str | None
    archived: bool
    #: Whether it is a redacted copy of another session.
    redacted: bool
    #: The agent that it was imported from.
    imported_from: str | None
    #: The file it was forked from.
    parent: str | None
    created: datetime | None
    #: The time of its last message.
    modified: datetime | None
    #: When its file was last written.
    written: datetime | None
    #: The length of its file in bytes.
    size: int
    #: The first text of the user.
    first_message: str
    #: The text of all messages; empty unless you ask for ``texts``.
    text: str
    #: The number of messages of every role on every branch.
    messages: int
    entries: int
    user_messages: int
    assistant_messages: int
    tool_results: int
    compactions: int
    #: The models that answered, as ``provider/model``.
    models: list[str]
    input_tokens: float
    output_tokens: float
    cache_read_tokens: float
    cache_write_tokens: float
    #: In dollars, as far as the session states it.
    cost: float
    unreadable_lines: int
    #: Whether some entry is not a child of the entry before it.
    branched: bool
    #: Whether the last message leaves something to do for the agent.
    unanswered: bool


@dataclass(frozen=True, slots=True)
class SearchHit(Record):
    """An entry that a search found."""

    path: Path
    entry_id: str | None
    type: str | None
    role: str | None
    time: datetime | None
    #: The byte offset of its line in the file.
    offset: int
    #: The relevance; higher is better.
    score: float
    #: The matching text with its surroundings.
    excerpt: str
    #: Where the matches are in ``excerpt``: pairs of begin and end.
    ranges: list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Finding(Record):
    """A problem of a file, or a fact worth knowing."""

    #: A stable name, such as ``malformed-line``.
    code: str
    severity: Literal["note", "warning", "error"]
    #: The line, counted from 1.
    line: int
    offset: int
    message: str
    consequence: str
    #: What ``sessile repair`` does about it, or why it does nothing.
    remedy: str
    repairable: bool


@dataclass(frozen=True, slots=True)
class Report(Record):
    """The findings about one file."""

    path: Path
    findings: list[Finding]
    #: Whether there are only notes, if anything.
    sound: bool
    #: Why the file could not be read.
    error: str | None


@dataclass(frozen=True, slots=True)
class Tally(Record):
    """The totals of some entries."""

    entries: int
    messages: int
    user_messages: int
    assistant_messages: int
    tool_results: int
    #: None if tool calls were not counted: totals come from the list, which does not have them.
    tool_calls: int | None
    tool_errors: int | None
    compactions: int
    input_tokens: float
    output_tokens: float
    cache_read_tokens: float
    cache_write_tokens: float
    total_tokens: float
    #: In dollars.
    cost: float
    #: The share of the sent tokens that came from the provider's cache; None if nothing was sent.
    cache_hit_rate: float | None


@dataclass(frozen=True, slots=True)
class StatsGroup(Record):
    """A group of a ``Stats``."""

    #: One text for each criterion.
    keys: list[str]
    #: The file and the id of the session, if the group is a session.
    path: Path | None
    id: str | None
    #: The number of sessions that contribute to it, if counted.
    sessions: int | None
    tally: Tally


@dataclass(frozen=True, slots=True)
class Stats(Record):
    """The usage of some sessions."""

    by: list[str]
    total: Tally
    sessions: int
    forks: int
    branched: int
    #: The number of entries that were not counted because they are copies of counted ones.
    copied: int
    groups: list[StatsGroup]
    unreadable: list[Path]

    def rows(self) -> list[dict[str, Any]]:
        """Return one dict per group: its criteria by name, then its figures."""
        return [self._row(group) for group in self.groups]

    def _row(self, group: StatsGroup) -> dict[str, Any]:
        row: dict[str, Any] = dict(zip(self.by, group.keys))
        if group.path is not None:
            row["path"] = str(group.path)
        row["sessions"] = group.sessions
        row.update(group.tally.to_dict())
        return row

    def to_pandas(self) -> _pd.DataFrame:
        """Return the groups as a DataFrame of pandas."""
        from ._frames import rows_to_pandas

        return rows_to_pandas(self.rows())

    def to_arrow(self) -> _pa.Table:
        """Return the groups as a Table of pyarrow."""
        from ._frames import rows_to_arrow

        return rows_to_arrow(self.rows())


@dataclass(frozen=True, slots=True)
class CompactionInfo(Record):
    """A compaction in a session's history."""

    id: str
    #: Whether it is on the path to the leaf.
    on_path: bool
    tokens_before: float | None
    time: datetime | None
    first_kept_entry_id: str | None


@dataclass(frozen=True, slots=True)
class SessionStats(Record):
    """The usage and the shape of one session."""

    path: Path
    id: str
    #: All entries on all branches, with those copied from its parent.
    total: Tally
    #: The part copied from its parent session, if that still exists.
    copied: Tally | None
    models: list[StatsGroup]
    tools: list[StatsGroup]
    entries: int
    roots: int
    branches: int
    branch_points: int
    #: The number of entries on the longest branch.
    deepest: int
    #: The number of entries on the path to the leaf.
    active_path: int
    compactions: list[CompactionInfo]
    parent: str | None
    #: The sessions that were forked from it.
    forks: list[Path]


@dataclass(frozen=True, slots=True)
class FamilyMember(Record):
    """A session of a family."""

    path: Path
    id: str | None
    #: The index of its parent among the members.
    parent: int | None
    #: The number of generations after the first.
    depth: int
    #: Whether its file was not found.
    missing: bool
    #: The number of entries at its beginning that its parent has, too; None if unknown.
    shared_entries: int | None


@dataclass(frozen=True, slots=True)
class Family(Record):
    """Sessions that were forked from each other, parents before forks."""

    members: list[FamilyMember]
    #: The index of the session you asked for.
    requested: int


@dataclass(frozen=True, slots=True)
class Context(Record):
    """What a model would see."""

    messages: list[Message]
    provider: str | None
    model: str | None
    thinking_level: str | None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dict, with the messages as dicts."""
        return {
            "messages": [message.to_dict() for message in self.messages],
            "provider": self.provider,
            "model": self.model,
            "thinking_level": self.thinking_level,
        }


@dataclass(frozen=True, slots=True)
class Branch(Record):
    """A branch of a session, by its last entry."""

    leaf: Entry
    #: The number of its entries.
    length: int
    #: Whether the session's leaf is its last entry.
    current: bool

    def entries(self) -> EntryIterator:
        """Iterate over its entries from the root to its end."""
        return self.leaf.branch()


@dataclass(frozen=True, slots=True)
class TreeNode(Record):
    """An entry in the tree of its session."""

    entry: Entry
    #: The number of ancestors.
    depth: int
    label: str | None
    #: Whether the entry is on the path to the leaf.
    on_path: bool
    #: Whether an archived branch begins here.
    archived: bool


@dataclass(frozen=True, slots=True)
class FollowEvent(Record):
    """An event in a followed session.

    ``kind`` is ``"entry"`` for an entry; ``"header"`` for the header; ``"skipped"`` for a line that is not an entry, with
    the reason in ``message``; ``"restarted"`` if the file is read again from its beginning, so that earlier events are
    void; ``"gone"`` if the file does not exist.
    """

    kind: Literal["header", "entry", "skipped", "restarted", "gone"]
    entry: Entry | None
    header: dict[str, Any] | None
    message: str | None
