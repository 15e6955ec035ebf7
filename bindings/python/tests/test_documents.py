"""The example runs, and the documentation shows it."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import sessile

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "bindings/python/examples/history.py"


def test_the_example_runs(tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLE), str(tmp_path / "sample")]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "'High water an hour early'" in printed
    assert "anthropic/claude-opus-4-5" in printed
    assert "42 entries, 3 branches, 16 messages" in printed


def test_the_documentation_has_the_example() -> None:
    assert EXAMPLE.read_text() in (ROOT / "docs/python.md").read_text()


def test_everything_has_documentation() -> None:
    for name in sessile.__all__:
        value = getattr(sessile, name)
        assert inspect.getdoc(value), name
        for member, attribute in vars(value).items() if inspect.isclass(value) else ():
            is_ours = not member.startswith("_") and (callable(attribute) or inspect.isgetsetdescriptor(attribute))
            assert not is_ours or inspect.getdoc(attribute), f"{name}.{member}"
