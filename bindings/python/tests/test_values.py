"""Values that other JSON readers reject or change."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import pytest

import sessile
from session_lines import header, line


def read(path: Path, data: bytes) -> Any:
    path.write_bytes(header().encode() + line("a", None, '"type":"custom","data":DATA').encode().replace(b"DATA", data))
    with sessile.open(path) as session:
        return session.entry("a").to_dict()["data"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"null", None),
        (b"[true, false]", [True, False]),
        (b"-12", -12),
        (b"9223372036854775807", 9223372036854775807),
        (b"9223372036854775808", 9.223372036854775808e18),
        (b"1.0", 1.0),
        (b"1e999", math.inf),
        (rb'"\ud83d\udcf7 \ud800"', "📷 \ud800"),
        (b'"\xff"', "\ufffd"),
        (b'{"a":1,"b":2,"a":{"c":[]}}', {"a": {"c": []}, "b": 2}),
        (b"{}", {}),
    ],
)
def test_values(tmp_path: Path, text: bytes, value: Any) -> None:
    found = read(tmp_path / "values.jsonl", text)
    assert found == value and type(found) is type(value)


def test_nesting_of_any_depth(tmp_path: Path) -> None:
    depth = 100_000
    value = read(tmp_path / "deep.jsonl", b"[" * depth + b"]" * depth)
    found = 1
    while value:
        (value,) = value
        found += 1
    assert found == depth > sys.getrecursionlimit()


def test_entries_of_unusual_shape(tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_text(header() + '[1,2]\n{"type":"future","id":"f"}\n{"type":7,"id":"n","timestamp":"Jan 1 2025 UTC"}\n')
    with sessile.open(path) as session:
        odd, future, number = session
        assert (odd.id, odd.type, odd.role, odd.text(), odd.json()) == (None, None, None, "", "[1,2]")
        with pytest.raises(ValueError, match="not a JSON object"):
            odd.to_dict()
        assert (future.type, future.time) == ("future", None)
        assert number.type is None and number.time is not None and number.time.year == 2025


def test_ids_with_lone_surrogates(tmp_path: Path) -> None:
    path = tmp_path / "ids.jsonl"
    path.write_text(header() + line("\\ud800", None, '"type":"custom"') + line("\\ud801", "\\ud800", '"type":"custom"'))
    with sessile.open(path) as session:
        assert [entry.id for entry in session] == ["\ud800", "\ud801"]
        assert session.entry("\ud801").parent_id == "\ud800"


def test_times_beyond_the_years_of_python(tmp_path: Path) -> None:
    path = tmp_path / "times.jsonl"
    path.write_text(header() + '{"type":"custom","id":"a","timestamp":"+012345-01-01T00:00:00.000Z"}\n')
    with sessile.open(path) as session:
        assert session.entry("a").time is None
