"""Lines of session files."""

from __future__ import annotations


def header(version: int = 3) -> str:
    return f'{{"type":"session","version":{version},"id":"s1","timestamp":"2025-11-15T00:00:00.000Z","cwd":"/proj"}}\n'


def line(id: str, parent: str | None, rest: str) -> str:
    parent_id = "null" if parent is None else f'"{parent}"'
    return f'{{"id":"{id}","parentId":{parent_id},"timestamp":"2025-11-15T00:00:01.000Z",{rest}}}\n'


def user(id: str, parent: str | None, text: str) -> str:
    return line(id, parent, f'"type":"message","message":{{"role":"user","content":"{text}"}}')
