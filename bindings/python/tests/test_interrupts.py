"""Ctrl-C ends calls that wait or work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from session_lines import header, user

#: Makes a call with one argument, says when it begins, and says whether it returned.
#:
#: The interpreter would raise the exception after the call, too. But `extend` and `map` do not go back to it between the
#: call and its result, if that is made without Python code.
PROGRAM = """
import os, signal, sys, sessile
# A test that runs in the background of a shell inherits that interrupts are ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
session = sys.argv[1]
store = sessile.Store(os.path.dirname(session), cache=False)
results = []
call, argument = {call}
print("begin", flush=True)
try:
    results.extend(map(call, [argument]))
except KeyboardInterrupt:
    pass
print("returned" if results else "interrupted", flush=True)
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
    assert interrupted("next, store.follow(session)", forked_file) == "interrupted"


@pytest.mark.parametrize(
    "call",
    [
        "store.search, 'absent'",  # is cancelled
        "store.open, 'absent'",  # looks through all names, and cannot be cancelled
    ],
)
def test_reading_a_large_store(tmp_path: Path, call: str) -> None:
    # One session under many names: little space, but many seconds to read.
    session = tmp_path / "0.jsonl"
    session.write_text(header() + "".join(user(f"{number:08x}", None, "x" * 1000) for number in range(1000)))
    for number in range(1, 6000):
        os.link(session, tmp_path / f"{number}.jsonl")
    assert interrupted(call, session) == "interrupted"
