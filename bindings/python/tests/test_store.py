from __future__ import annotations

from datetime import date, datetime, timezone
from pathlib import Path

import pytest

import sessile
from session_lines import header, user


def test_a_list_has_the_newest_first(sample: sessile.Store) -> None:
    rows = sample.list()
    assert len(rows) == 6
    first = rows[0]
    assert first.name == "High water an hour early"
    assert first.messages == 29
    assert first.path.exists()
    assert first.id.startswith("019a6ce2")
    assert first.modified is not None and first.modified.tzinfo is timezone.utc
    assert first.cost > 0 and "anthropic/claude-sonnet-4-5" in first.models
    assert [row.modified for row in rows] == sorted((row.modified for row in rows if row.modified), reverse=True)
    assert first.text == "" and "predict" in sample.list(texts=True)[0].text


def test_lists_are_filtered_and_sorted(sample: sessile.Store) -> None:
    assert {row.cwd for row in sample.list("/home/u/src/harbour-site")} == {"/home/u/src/harbour-site"}
    assert [row.name for row in sample.list(query="LANDING page")] == ["Tide widget for the landing page"]
    assert all(row.name for row in sample.list(named=True))
    assert {row.parent is None for row in sample.list(children="only")} == {False}
    assert len(sample.list(children="hidden")) + len(sample.list(children="only")) == 6
    costs = [row.cost for row in sample.list(sort="cost")]
    assert costs == sorted(costs, reverse=True)
    assert len(sample.list(limit=2)) == 2
    assert sample.list(archived="only") == []


def test_times_are_datetimes_dates_or_texts(sample: sessile.Store) -> None:
    recent = len(sample.list(since="2d"))
    assert 0 < recent < 6
    # The clock of the sample stands at 12 November 2025.
    assert len(sample.list(since=datetime(2025, 11, 10, 12, tzinfo=timezone.utc))) == recent
    assert len(sample.list(since=date(2025, 11, 5), until=date(2025, 11, 5))) == 1
    with pytest.raises(ValueError, match="not a time"):
        sample.list(since="soon")
    with pytest.raises(TypeError):
        sample.list(since=5)  # type: ignore[arg-type]


def test_wrong_words_name_the_right_ones(sample: sessile.Store) -> None:
    with pytest.raises(ValueError, match="recent, created, size"):
        sample.list(sort="age")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="durability must be one of buffered"):
        sessile.Store(durability="paper")  # type: ignore[arg-type]


def test_sessions_are_found_by_path_id_and_name(sample: sessile.Store) -> None:
    path = sample.list()[0].path
    for reference in (path, str(path), "019a6ce2", "High water an hour early", "@latest"):
        assert sample.find(reference) == path
        with sample.open(reference) as session:
            assert session.path == path


def test_a_missing_session_is_a_missing_file(sample: sessile.Store, tmp_path: Path) -> None:
    missing = tmp_path / "none.jsonl"
    for wanted in (missing, "no such name"):
        with pytest.raises(FileNotFoundError) as caught:
            sample.open(wanted)
        assert isinstance(caught.value, sessile.SessionNotFoundError)
        assert isinstance(caught.value, sessile.SessileError)
    with pytest.raises(sessile.SessionNotFoundError, match="none.jsonl does not exist") as caught:
        sessile.open(missing)
    assert caught.value.filename == str(missing)
    with pytest.raises(sessile.AmbiguousError, match="is ambiguous: it matches 4 sessions") as ambiguous:
        sample.open("019a")
    assert len(ambiguous.value.candidates) == 4


def test_other_files_are_refused_with_the_words_of_the_engine(tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text("hello\n")
    with pytest.raises(sessile.NotASessionError, match="its first line is not a session header"):
        sessile.open(other)
    with pytest.raises(sessile.StorageError) as caught:
        sessile.open(tmp_path)
    assert isinstance(caught.value, OSError)


def test_search(sample: sessile.Store) -> None:
    hits = sample.search("harmonic")
    assert hits and all("harmonic" in hit.excerpt.lower() for hit in hits)
    hit = hits[0]
    begin, end = hit.ranges[0]
    assert hit.excerpt[begin:end].lower() == "harmonic"
    assert hit.entry_id is not None
    with sample.open(hit.path) as session:
        assert "armonic" in session.entry(hit.entry_id).json()
    assert sample.search("harmonic", roles="user") == []
    assert len(sample.search("tide", limit=1)) == 1
    assert {found.path for found in sample.search("tide", files=[hit.path])} <= {hit.path}
    with pytest.raises(sessile.QueryError, match="empty"):
        sample.search("  ")
    with pytest.raises(sessile.QueryError, match="not a regular expression"):
        sample.search("re:(")
    with pytest.raises(ValueError, match="use one of user"):
        sample.search("tide", roles="stranger")


def test_matches_are_counted_in_characters(store: sessile.Store) -> None:
    with store.create("/proj") as session:
        session.append_user_message("📷 é needle")
    (hit,) = store.search("needle")
    assert [hit.excerpt[begin:end] for begin, end in hit.ranges] == ["needle"]


def test_stats_count_copies_once(sample: sessile.Store) -> None:
    total = sample.stats()
    assert total.sessions == 6 and total.forks == 2
    assert total.total.tool_calls is None
    by_model = sample.stats(by="model")
    assert by_model.total.tool_calls == 9 and by_model.total.tool_errors == 1
    assert by_model.copied == 45
    assert [group.keys for group in by_model.groups][0] == ["anthropic/claude-sonnet-4-5"]
    assert sum(group.tally.cost for group in by_model.groups) == pytest.approx(total.total.cost)
    two = sample.stats(by=("day", "model"))
    assert two.by == ["day", "model"]
    assert two.rows()[0]["day"].startswith("2025-11-")
    assert sample.stats(since="2030-01-01").sessions == 0
    with pytest.raises(ValueError, match="at most two"):
        sample.stats(by=("day", "model", "tool"))


def test_one_session_in_figures(sample: sessile.Store) -> None:
    info = sample.list(query="High water")[0]
    stats = sample.session_stats(info.path)
    assert stats.id == info.id and stats.total.messages == info.messages
    assert stats.branches > 1 and stats.branch_points >= 1
    assert len(stats.forks) >= 1
    with sample.open(info.path) as session:
        assert session.stats() == stats


def test_families_have_parents_before_forks(sample: sessile.Store) -> None:
    fork = sample.list(children="only")[0]
    family = sample.family(fork.path)
    assert family.members[family.requested].path == fork.path
    parent = family.members[family.requested].parent
    assert parent is not None and str(family.members[parent].path) == fork.parent
    assert (family.members[family.requested].shared_entries or 0) > 0


def test_files_are_verified(sample: sessile.Store, forked_file: Path) -> None:
    assert all(report.sound for report in sample.verify_all())
    with forked_file.open("a") as file:
        file.write('{"broken\n')
    report = sample.verify(forked_file)
    assert not report.sound
    finding = next(finding for finding in report.findings if finding.severity == "error")
    assert finding.line == 6 and finding.message and finding.remedy
    assert report.to_dict()["findings"][0]["code"] == report.findings[0].code


def test_the_default_store_is_the_one_of_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PI_CODING_AGENT_SESSION_DIR", str(tmp_path / "elsewhere"))
    with sessile.create("/proj", id="my-session") as session:
        session.append_user_message("hello")
        assert session.path is not None and session.path.parent == tmp_path / "elsewhere"
    assert [row.id for row in sessile.Store().list()] == ["my-session"]
    with sessile.open("my-session") as session:
        assert len(session) == 1


def test_a_sample_needs_an_empty_directory(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(ValueError, match="not empty"):
        sessile.Store.sample(tmp_path / "full")


def test_a_session_in_the_mirror_of_a_remote_is_like_others(tmp_path: Path) -> None:
    directory = tmp_path / "remote" / "store" / "members" / "ada" / "sessions" / "--proj--"
    directory.mkdir(parents=True, mode=0o700)
    path = directory / "2025-11-15T00-00-00-000Z_s1.jsonl"
    path.write_text(header() + user("a", None, "from Ada"))
    assert [row.path for row in sessile.Store(directory).list()] == [path]
    with sessile.open(path) as session:
        session.append_user_message("mine")
    assert len(path.read_text().splitlines()) == 3
