"""Data frames of pandas and tables of pyarrow. Both packages are optional."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ._records import Record

if TYPE_CHECKING:
    import pandas as _pd  # type: ignore[import-untyped, import-not-found, unused-ignore]
    import pyarrow as _pa  # type: ignore[import-untyped, import-not-found, unused-ignore]

    from ._sessile import Session

#: The number of entries that are read at a time.
BATCH = 20_000


def to_pandas(records: Iterable[Record]) -> _pd.DataFrame:
    """Return records, such as those of ``Store.list`` and ``Store.search``, as a DataFrame of pandas."""
    return rows_to_pandas([_row(record) for record in records])


def to_arrow(records: Iterable[Record]) -> _pa.Table:
    """Return records, such as those of ``Store.list`` and ``Store.search``, as a Table of pyarrow."""
    return rows_to_arrow([_row(record) for record in records])


def rows_to_pandas(rows: list[dict[str, Any]]) -> _pd.DataFrame:
    return _pandas().DataFrame(rows)


def rows_to_arrow(rows: list[dict[str, Any]]) -> _pa.Table:
    return _pyarrow().Table.from_pylist(rows)


def session_to_pandas(session: Session, text: bool) -> _pd.DataFrame:
    pandas = _pandas()
    columns: dict[str, list[Any]] = {}
    for batch in _batches(session, text):
        for name, values in batch.items():
            columns.setdefault(name, []).extend(values)
    frame = pandas.DataFrame(columns)
    frame["time"] = pandas.to_datetime(frame["time"].astype("Int64"), unit="ms", utc=True)
    for name in ("type", "role", "model"):
        frame[name] = frame[name].astype("category")
    return frame


def session_to_arrow(session: Session, text: bool) -> _pa.Table:
    pyarrow = _pyarrow()
    words = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    number = pyarrow.float64()
    types = {
        "line": pyarrow.int64(),
        "id": pyarrow.string(),
        "parent_id": pyarrow.string(),
        "type": words,
        "role": words,
        "time": pyarrow.timestamp("ms", tz="UTC"),
        "size": pyarrow.int64(),
        "model": words,
        "tools": pyarrow.list_(pyarrow.string()),
        "tool_errors": pyarrow.int64(),
        "input_tokens": number,
        "output_tokens": number,
        "cache_read_tokens": number,
        "cache_write_tokens": number,
        "cost": number,
    }
    if text:
        types["text"] = pyarrow.large_string()
    schema = pyarrow.schema(list(types.items()))
    batches = [
        pyarrow.record_batch([pyarrow.array(batch[name], types[name]) for name in types], schema=schema)
        for batch in _batches(session, text)
    ]
    return pyarrow.Table.from_batches(batches, schema=schema).unify_dictionaries()


def _batches(session: Session, text: bool) -> Iterator[dict[str, list[Any]]]:
    """Yield the columns of all entries, batch by batch. The first batch may be empty."""
    start = 0
    while True:
        columns, after = session._columns(start, BATCH, text)
        if after == start and start > 0:
            return
        yield columns
        if after == start:
            return
        start = after


def _row(record: Record) -> dict[str, Any]:
    """The fields of a record in one level, without paths as objects."""
    row: dict[str, Any] = {}
    for name, value in record.to_dict().items():
        if isinstance(value, dict):
            row.update(value)
        else:
            row[name] = str(value) if hasattr(value, "__fspath__") else value
    return row


def _pandas() -> Any:
    try:
        import pandas  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError as error:
        raise ImportError("data frames need pandas; install it with: pip install pandas") from error
    return pandas


def _pyarrow() -> Any:
    try:
        import pyarrow  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError as error:
        raise ImportError("Arrow tables need pyarrow; install it with: pip install pyarrow") from error
    return pyarrow
