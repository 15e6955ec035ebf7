from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

import sessile


def lines(path: Path | None) -> list[dict[str, Any]]:
    assert path is not None
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_session_is_created_with_its_first_message(store: sessile.Store) -> None:
    with store.create("/proj", id="mine", parent="/old.jsonl") as session:
        assert session.path is not None and not session.path.exists()
        assert session.leaf_id is None and len(session) == 0
        with pytest.raises(sessile.SessionNotFoundError, match="not in a file yet"):
            session.verify()
        first = session.append_user_message("Why?")
        second = session.append_assistant_message("Because.", provider="acme", model="acme-1")
        written = lines(session.path)
        assert written[0]["id"] == "mine" and written[0]["parentSession"] == "/old.jsonl"
        assert [line["id"] for line in written[1:]] == [first, second]
        assert written[2]["parentId"] == first
        assert written[2]["message"]["model"] == "acme-1"
        assert session.verify().sound
        assert session.path.stat().st_mode & 0o777 == 0o600


def test_every_kind_of_entry(store: sessile.Store) -> None:
    with store.create("/proj") as session:
        message = {"role": "user", "content": [{"type": "text", "text": "é 📷 \ud800"}], "timestamp": 1.0}
        first = session.append_message(message)
        session.append_custom_entry("my-analysis", {"score": [1, 2.5, None, True]})
        session.append_custom_entry("mark")
        session.append_label(first, "start")
        session.append_label(session.entry(first), None)
        session.append_name("Two\nlines")
        assert session.name == "Two lines" and session.labels() == {}
        assert session.entry(first).to_dict()["message"] == {**message, "timestamp": 1}
        written = [json.loads(entry.json()) for entry in session]
        assert [line["type"] for line in written] == ["message", "custom", "custom", "label", "label", "session_info"]
        assert written[1]["data"] == {"score": [1, 2.5, None, True]}
        assert "data" not in written[2]
        # As JavaScript prints it, in the key order of pi.
        assert list(written[0]) == ["type", "id", "parentId", "timestamp", "message"]
        assert '"timestamp":1}' in session.entry(first).json()


def test_values_that_json_cannot_hold_are_refused(store: sessile.Store) -> None:
    with store.create("/proj") as session:
        with pytest.raises(ValueError):
            session.append_message({"role": "user", "content": float("nan")})
        with pytest.raises(TypeError):
            session.append_custom_entry("x", object())
        with pytest.raises(TypeError):
            session.append_message("text")  # type: ignore[arg-type]
        assert len(session) == 0


def test_compare_and_append(store: sessile.Store) -> None:
    with store.create("/proj") as mine:
        first = mine.append_user_message("one", expected_last=None)
        with store.open(mine.id) as theirs:
            second = theirs.append_user_message("two", expected_last=first)
        before = lines(mine.path)
        with pytest.raises(sessile.LeafMovedError, match="the session has changed: its last entry is") as caught:
            mine.append_user_message("three", expected_last=first)
        assert (caught.value.expected, caught.value.actual) == (first, second)
        assert lines(mine.path) == before
        with pytest.raises(sessile.LeafMovedError):
            mine.append_name("x", expected_last=None)
        third = mine.append_custom_entry("note", expected_last=mine.entry(second))
        assert mine.entry(third).parent_id == first, "the leaf of this session has not moved"


def test_appends_go_after_the_leaf(store: sessile.Store) -> None:
    with store.create("/proj") as session:
        first = session.append_user_message("one")
        second = session.append_user_message("two")
        session.move_leaf(first)
        assert (session.leaf_id, session.last_id) == (first, second)
        other = session.append_user_message("another two")
        assert session.entry(other).parent_id == first
        assert len(session.branches()) == 2
        session.move_leaf(None)
        assert session.entry(session.append_user_message("new root")).parent_id is None
        with pytest.raises(sessile.EntryNotFoundError):
            session.move_leaf("zzz")
        with pytest.raises(sessile.EntryNotFoundError):
            session.append_label("zzz", "label")


def test_foreign_entries_are_read_on_request(store: sessile.Store) -> None:
    with store.create("/proj") as mine:
        mine.append_user_message("one")
        with store.open(mine.id) as theirs:
            theirs.append_user_message("two")
        assert len(mine) == 1
        first = mine.leaf_id
        mine.refresh()
        assert [entry.text() for entry in mine] == ["one", "two"]
        assert mine.leaf_id == first
        mine.refresh(follow=True)
        assert mine.leaf_id == mine.last_id != first


def test_read_only_sessions_are_not_written(forked_file: Path) -> None:
    before = forked_file.read_bytes()
    with sessile.open(forked_file, read_only=True) as session:
        with pytest.raises(sessile.ReadOnlyError, match="read-only"):
            session.append_user_message("no")
    with sessile.Store(read_only=True).open(forked_file) as session:
        with pytest.raises(sessile.ReadOnlyError):
            session.append_name("no")
    with sessile.Store(durability="memory").open(forked_file) as session:
        session.append_user_message("only in memory")
        assert len(session) == 5
    assert forked_file.read_bytes() == before


def test_open_can_create(tmp_path: Path) -> None:
    path = tmp_path / "new.jsonl"
    with sessile.open(path, create=True) as session:
        assert not path.exists()
        session.append_user_message("hello")
        assert session.path == path and path.exists()


def test_threads_share_a_session(store: sessile.Store) -> None:
    with store.create("/proj") as session:
        session.append_user_message("begin")

        def write(name: int) -> None:
            for number in range(25):
                session.append_custom_entry("count", [name, number])

        threads = [threading.Thread(target=write, args=(name,)) for name in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        data = [entry.to_dict()["data"] for entry in session.entries(types="custom")]
        assert sorted(data) == [[name, number] for name in range(4) for number in range(25)]
        assert len(session.branches()) == 1
        assert session.verify().sound
