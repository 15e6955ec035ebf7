from __future__ import annotations

import threading
from pathlib import Path

import pytest

import sessile
from session_lines import user


def append(path: Path, lines: str) -> None:
    with path.open("a") as file:
        file.write(lines)


def test_new_entries_arrive(forked_file: Path) -> None:
    store = sessile.Store()
    with store.follow(forked_file) as follower:
        assert follower.path == forked_file
        assert follower.next(timeout=0) is None
        append(forked_file, user("e", "d", "five"))
        event = follower.next(timeout=60)
        assert event is not None and event.kind == "entry" and event.entry is not None
        assert (event.entry.id, event.entry.parent_id, event.entry.role) == ("e", "d", "user")
        assert event.entry.text() == "five" and event.entry.line == 6
        assert event.entry.to_dict()["message"]["content"] == "five"
        with pytest.raises(ValueError, match="open its session"):
            event.entry.branch()


def test_a_thread_can_write_while_another_one_waits(forked_file: Path) -> None:
    """The wait does not keep the interpreter's lock, else the event would never come."""
    writer = threading.Timer(0.2, append, (forked_file, user("e", "d", "five")))
    with sessile.Store().follow(forked_file) as follower:
        writer.start()
        event = follower.next(timeout=60)
        assert event is not None and event.kind == "entry"
    writer.join()


def test_from_the_beginning_and_after_an_entry(forked_file: Path) -> None:
    store = sessile.Store()
    with store.follow(forked_file, start="beginning", timeout=0) as follower:
        events = list(follower)
    assert [event.kind for event in events] == ["header", *["entry"] * 4]
    assert events[0].header is not None and events[0].header["id"] == "s1"
    with store.follow(forked_file, after="b", timeout=0) as follower:
        assert [event.entry.id for event in follower if event.entry] == ["c", "d"]
    with pytest.raises(sessile.EntryNotFoundError):
        store.follow(forked_file, after="zzz")


def test_damage_and_replacement_are_reported(forked_file: Path) -> None:
    with sessile.Store().follow(forked_file, timeout=60) as follower:
        append(forked_file, '{"broken\n')
        skipped = next(follower)
        assert skipped.kind == "skipped" and skipped.message is not None
        assert skipped.message.startswith("line 6 (byte ") and skipped.message.endswith("): not valid JSON")
        forked_file.write_text(forked_file.read_text().splitlines(keepends=True)[0])
        assert (next(follower).kind, next(follower).kind) == ("restarted", "header")
        forked_file.unlink()
        assert next(follower).kind == "gone"


def test_a_file_that_does_not_exist_yet(tmp_path: Path) -> None:
    path = tmp_path / "later.jsonl"
    with sessile.Store().follow(path, timeout=60) as follower:
        with sessile.open(path, create=True) as session:
            session.append_user_message("first")
        kinds = []
        for event in follower:
            kinds.append(event.kind)
            if event.kind == "entry":
                break
        assert kinds[-2:] == ["header", "entry"]


def test_another_thread_ends_the_wait(forked_file: Path) -> None:
    follower = sessile.Store().follow(forked_file)
    closer = threading.Timer(0.2, follower.close)
    closer.start()
    assert list(follower) == []
    assert follower.closed
    closer.join()
    assert follower.next() is None


def test_timeouts_are_checked(forked_file: Path) -> None:
    with pytest.raises(ValueError, match="timeout"):
        sessile.Store().follow(forked_file, timeout=-1)
