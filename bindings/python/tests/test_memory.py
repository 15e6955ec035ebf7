"""Memory depends on the number of entries, not on their bytes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from session_lines import header, user

#: Prints how much the peak of memory has grown, in megabytes.
PROGRAM = """
import sys, sessile

def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) // 1024

with sessile.Store(cache=False).open(sys.argv[1]) as session:
    next(iter(session)).to_dict()
    before = peak()
    entries = list(session)
    n_bytes = sum(len(entry.text()) for entry in session.branch())
    n_bytes += sum(len(entry.json()) for entry in entries)
    columns = session._columns(0, 1000, False)[0]
    assert len(entries) == len(columns["line"]) == 160 and n_bytes > 300_000_000, n_bytes
    print(peak() - before)
"""


def test_a_large_session_takes_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    text = "x" * (1 << 20)
    with path.open("w") as file:
        file.write(header())
        for number in range(160):
            file.write(user(f"{number:08x}", f"{number - 1:08x}" if number else None, text))
    grown = subprocess.run([sys.executable, "-c", PROGRAM, str(path)], check=True, capture_output=True, text=True).stdout
    assert int(grown) < 24, "the session has 160 MB"
