from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path

import pytest

import sessile
from session_lines import header, line, user


def ids(entries: sessile.EntryIterator) -> str:
    return "".join(entry.id or "-" for entry in entries)


def test_entries_in_file_order(forked_file: Path) -> None:
    with sessile.open(forked_file) as session:
        assert len(session) == 4
        assert ids(iter(session)) == ids(session.entries()) == "abcd"
        entry = session.entry("b")
        assert (entry.id, entry.parent_id, entry.type, entry.role, entry.line) == ("b", "a", "message", "user", 3)
        assert entry.time == datetime(2025, 11, 15, 0, 0, 1, tzinfo=timezone.utc)
        assert entry.text() == "two"
        stored = forked_file.read_text().splitlines()[2]
        assert entry.json() == stored and entry.to_dict() == json.loads(stored)
        assert forked_file.read_bytes()[entry.offset : entry.offset + entry.size] == stored.encode()
        with pytest.raises(sessile.EntryNotFoundError, match="entry zzz not found"):
            session.entry("zzz")


def test_branches(forked_file: Path) -> None:
    with sessile.open(forked_file) as session:
        assert session.leaf_id == session.last_id == "d"
        assert ids(session.branch()) == "ad"
        assert ids(session.branch("c")) == "abc"
        assert ids(session.branch(session.entry("b"))) == "ab"
        branches = session.branches()
        assert [(branch.leaf.id, branch.length, branch.current) for branch in branches] == [("c", 3, False), ("d", 2, True)]
        assert [ids(branch.entries()) for branch in branches] == ["abc", "ad"]
        assert [(node.entry.id, node.depth, node.on_path) for node in session.tree()] == [
            ("a", 0, True),
            ("b", 1, False),
            ("c", 2, False),
            ("d", 1, True),
        ]


def test_entries_are_filtered_without_reading_them(sample: sessile.Store) -> None:
    with sample.open("@latest") as session:
        types = {entry.type for entry in session}
        assert {"message", "compaction", "branch_summary", "label"} <= types
        assert {entry.type for entry in session.entries(types="compaction")} == {"compaction"}
        assert {entry.role for entry in session.entries(roles=["user", "assistant"])} == {"user", "assistant"}
        everything = sum(1 for _ in session.branch())
        assert 0 < sum(1 for _ in session.branch(roles="user")) < everything
        (summary,) = session.entries(types="branch_summary")
        assert summary.text().startswith("Tried to convert")
        with pytest.raises(ValueError, match="not a type; use one of message"):
            session.entries(types="massage")


def test_a_large_session_is_read_in_batches(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    numbers = [f"{number:08x}" for number in range(3000)]
    lines = [user(id, numbers[number - 1] if number else None, id) for number, id in enumerate(numbers)]
    path.write_text(header() + "".join(lines))
    with sessile.open(path) as session:
        assert [entry.id for entry in session] == numbers
        assert [entry.id for entry in session.branch()] == numbers
        assert [entry.text() for entry in session.entries(roles="user")] == numbers


def test_names_labels_and_header(sample: sessile.Store) -> None:
    with sample.open("@latest") as session:
        assert session.name == "High water an hour early"
        assert session.header["type"] == "session" and session.header["id"] == session.id
        assert session.cwd == Path("/home/u/src/tidepool")
        labels = session.labels()
        assert "cause found" in labels.values()
        (labelled,) = [node.entry.id for node in session.tree() if node.label == "cause found"]
        assert labelled is not None and labels[labelled] == "cause found"


def test_the_context_is_what_a_model_sees(sample: sessile.Store) -> None:
    with sample.open("@latest") as session:
        context = session.context()
        assert context.provider == "anthropic" and context.model
        assert context.to_dict()["messages"] == [message.to_dict() for message in context.messages]
        assert {"user", "assistant"} <= {message.role for message in context.messages}
        assert all(json.loads(message.json()) == message.to_dict() for message in context.messages)
        assert any("clocks" in message.text for message in context.messages)
        assert {message.role for message in session.llm_messages()} <= {"user", "assistant", "toolResult", "system"}
        root = next(session.branch())
        assert len(session.context(root).messages) < len(context.messages)
        with pytest.raises(sessile.EntryNotFoundError):
            session.context("zzz")


def test_a_closed_session_is_not_read(forked_file: Path) -> None:
    with sessile.open(forked_file) as session:
        entry = session.entry("a")
        assert not session.closed
    assert session.closed
    assert (entry.id, entry.line) == ("a", 2)
    for read in (entry.json, session.branches, lambda: session.name, lambda: len(session)):
        with pytest.raises(sessile.ClosedError, match="the session is closed"):
            read()
    assert repr(session) == "<sessile.Session, closed>"
    session.close()


def test_entries_follow_a_rewritten_file(tmp_path: Path) -> None:
    """A file of version 1 is rewritten by its first append. Entries that were read before stay valid."""
    path = tmp_path / "old.jsonl"
    path.write_text(
        '{"type":"session","id":"old","timestamp":"2025-11-15T00:00:00.000Z","cwd":"/proj"}\n'
        '{"type":"message","timestamp":"2025-11-15T00:00:01.000Z","message":{"role":"user","content":"one"}}\n'
        '{"type":"message","timestamp":"2025-11-15T00:00:02.000Z","message":{"role":"user","content":"two"}}\n'
    )
    with sessile.open(path) as session:
        entries = list(session)
        session.append_user_message("three")
        assert [entry.text() for entry in entries] == ["one", "two"]
        assert [entry.text() for entry in session] == ["one", "two", "three"]
    assert len(list(tmp_path.glob("old.jsonl.orig-*"))) == 1


def test_an_entry_that_disappeared_is_reported(forked_file: Path) -> None:
    with sessile.open(forked_file) as session:
        entries = list(session)
        forked_file.write_text(header() + user("x", None, "other"))
        with pytest.raises(sessile.ChangedError, match="entry d, the current leaf, is no longer in it"):
            session.refresh()
        session.refresh(follow=True)
        assert session.leaf_id == "x"
        assert [entry.text() for entry in session] == ["other"]
        with pytest.raises(sessile.ChangedError):
            entries[1].json()


def test_representations_hold_no_text_of_the_session(tmp_path: Path) -> None:
    path = tmp_path / "hostile.jsonl"
    path.write_text(header() + line("\\u001b[31m", None, '"type":"\\u001b]0;x","message":{"role":"\\u001b[31m"}'))
    with sessile.open(path) as session:
        (entry,) = session
        assert entry.type == "\x1b]0;x" and entry.id == "\x1b[31m"
        assert repr(entry) == "<sessile.Entry unknown, line 2>"
        assert repr(session) == "<sessile.Session, 1 entries>"
