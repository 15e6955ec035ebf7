from __future__ import annotations

import sys

import pytest

import sessile


def test_entries_as_columns(sample: sessile.Store) -> None:
    with sample.open("@latest") as session:
        columns, after = session._columns(0, 10, True)
        assert all(len(values) == 10 for values in columns.values())
        rest, end = session._columns(after, 1000, True)
        assert len(columns["line"]) + len(rest["line"]) == len(session)
        assert session._columns(end, 1000, True)[1] == end
        assert [*columns["text"], *rest["text"]] == [entry.text() for entry in session]
        total = session.stats().total
        assert sum(columns["cost"]) + sum(rest["cost"]) == pytest.approx(total.cost)
        assert sum(len(tools) for tools in [*columns["tools"], *rest["tools"]]) == (total.tool_calls or 0) + total.tool_results


def test_entries_in_pandas(sample: sessile.Store) -> None:
    pytest.importorskip("pandas")
    with sample.open("@latest") as session:
        frame = session.to_pandas()
        assert len(frame) == len(session) and "text" not in frame
        assert list(frame["id"]) == [entry.id for entry in session]
        assert str(frame["time"].dtype).startswith("datetime64[") and str(frame["time"].dtype).endswith(", UTC]")
        assert frame["time"].iloc[0].to_pydatetime() == next(iter(session)).time
        spent = frame.groupby("model", observed=True)["cost"].sum()
        assert spent.sum() == pytest.approx(session.stats().total.cost)
        assert set(session.to_pandas(text=True)["text"]) >= {"Perfect, that one."}


def test_entries_in_arrow(sample: sessile.Store) -> None:
    pytest.importorskip("pyarrow")
    with sample.open("@latest") as session:
        table = session.to_arrow(text=True)
        assert table.num_rows == len(session)
        assert table.column("text").to_pylist() == [entry.text() for entry in session]
        assert table.column("time").to_pylist() == [entry.time for entry in session]
        assert str(table.schema.field("time").type) == "timestamp[ms, tz=UTC]"


def test_a_session_without_entries(store: sessile.Store) -> None:
    with store.create("/proj") as session:
        if pytest.importorskip("pandas"):
            assert len(session.to_pandas()) == 0 and "cost" in session.to_pandas()
        if pytest.importorskip("pyarrow"):
            assert session.to_arrow().num_rows == 0


def test_records_as_frames(sample: sessile.Store) -> None:
    pytest.importorskip("pandas")
    rows = sample.list()
    frame = sessile.to_pandas(rows)
    assert list(frame["id"]) == [row.id for row in rows]
    assert sessile.to_pandas(sample.search("tide"))["score"].is_monotonic_decreasing
    by_model = sample.stats(by="model").to_pandas().set_index("model")
    assert by_model.loc["openai/gpt-5.1", "assistant_messages"] == 1
    pytest.importorskip("pyarrow")
    assert sessile.to_arrow(rows).num_rows == 6
    assert sample.stats(by="day").to_arrow().column_names[0] == "day"


def test_missing_packages_are_named(sample: sessile.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pandas", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    with sample.open("@latest") as session:
        with pytest.raises(ImportError, match="pip install pandas"):
            session.to_pandas()
        with pytest.raises(ImportError, match="pip install pyarrow"):
            session.to_arrow()
    with pytest.raises(ImportError, match="pip install pandas"):
        sample.stats(by="model").to_pandas()
