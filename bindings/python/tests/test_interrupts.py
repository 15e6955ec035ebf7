"""Ctrl-C ends calls that wait or work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from session_lines import header

#: Runs a call, says when it begins, and says how it ended.
PROGRAM = """
import sys, sessile
store = sessile.Store(cache=False)
print("begin", flush=True)
try:
    {call}
    print("returned", flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def interrupted(call: str, path: Path) -> str:
    program = PROGRAM.format(call=call)
    with subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "begin\n"
        try:
            # The call has begun or will begin soon. It takes seconds in either case.
            child.wait(0.3)
        except subprocess.TimeoutExpired:
            pass
        child.send_signal(signal.SIGINT)
        answer, _ = child.communicate(timeout=120)
        return answer.strip()


def test_waiting_for_entries(forked_file: Path) -> None:
    assert interrupted("next(store.follow(sys.argv[1]))", forked_file) == "interrupted"


@pytest.mark.parametrize("call", ["store.open(sys.argv[1])", "store.verify(sys.argv[1])"])
def test_reading_a_huge_file(tmp_path: Path, call: str) -> None:
    path = tmp_path / "huge.jsonl"
    path.write_text(header())
    # A hole: it takes no space, but many seconds to read.
    os.truncate(path, 64 << 30)
    assert interrupted(call, path) == "interrupted"
