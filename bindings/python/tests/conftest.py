"""Every test gets its own store, caches and settings."""

from __future__ import annotations

from pathlib import Path

import pytest

import sessile
from session_lines import header, user


@pytest.fixture(autouse=True)
def own_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CACHE", "CONFIG", "STATE"):
        monkeypatch.setenv(f"SESSILE_{name}_DIR", str(tmp_path / name.lower()))
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "agent"))
    monkeypatch.delenv("PI_CODING_AGENT_SESSION_DIR", raising=False)


@pytest.fixture
def sample(tmp_path: Path) -> sessile.Store:
    """The six made-up sessions."""
    return sessile.Store.sample(tmp_path / "sample")


@pytest.fixture
def store(tmp_path: Path) -> sessile.Store:
    """An empty store."""
    return sessile.Store(tmp_path / "sessions")


@pytest.fixture
def forked_file(tmp_path: Path) -> Path:
    """A session with two branches: a, b, c and a, d."""
    path = tmp_path / "forked.jsonl"
    path.write_text(
        header() + user("a", None, "one") + user("b", "a", "two") + user("c", "b", "three") + user("d", "a", "four")
    )
    return path
