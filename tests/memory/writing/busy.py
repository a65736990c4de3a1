"""A process that works on a memory beside others: `ROLE ROOT NAME COUNT`. Run by the tests, never alone.

`gate` compares and writes through the gate; `append` appends entries, from ten threads; `hands` edits the files as a
careful editor does, past the gate. Prints what it met as JSON.
"""

from __future__ import annotations

import json
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.memory.writing.world import World
from workbench.core.errors import InputError
from workbench.core.hashing import sha256_hex
from workbench.memory.writing.entries import By, append_entry
from workbench.memory.writing.gate import Write, WriteGate
from workbench.storage.swapping import exchange

SHARED = tuple(f"log/shared-{number}.md" for number in range(3))
WAIT_S = 60.0


def gate(world: World, name: str, count: int) -> list[object]:
    """Entries by compare-and-retry; every refusal has to name the file with the digest expected and found."""
    refusals: list[object] = []
    writer = world.gate(wait_s=WAIT_S)
    for number in range(count):
        while not _written(writer, random.choice(SHARED), f"## {name} {number}\n\nText {number}.\n", refusals):
            pass
    return refusals


def _written(writer: WriteGate, ref: str, section: str, refusals: list[object]) -> bool:
    raw = (writer.root / ref).read_bytes()
    try:
        content = raw + b"\n" + section.encode()
        writer.commit_mutation(section.splitlines()[0], [Write(ref, content, sha256_hex(raw))])
    except InputError as error:
        assert error.code == "digest_conflict"
        (finding,) = error.detail
        assert (finding["source_ref"], finding["expected"]) == (ref, sha256_hex(raw))
        assert finding["found"] not in (None, finding["expected"])
        refusals.append(finding)
        return False
    return True


def append(world: World, name: str, count: int) -> list[object]:
    """Entries from ten threads at once."""

    def one(number: int) -> None:
        mine = World(world.root)
        text = f"## {name} {number}\n\nText {number}.\n"
        append_entry(mine.gate(wait_s=WAIT_S), random.choice(SHARED), text, By("user"))

    with ThreadPoolExecutor(10) as threads:
        list(threads.map(one, range(count)))
    return []


def hands(world: World, name: str, count: int) -> list[object]:
    """A line in the midst of a file, put there in one step over what was read, like an editor that looks before."""
    for number in range(count):
        while not _edited(world.root / random.choice(SHARED), f"{name} {number}"):
            pass
    return []


def _edited(path: Path, line: str) -> bool:
    raw = path.read_bytes()
    first, _, rest = raw.partition(b"\n")
    mine = path.with_name(".hands")
    mine.write_bytes(first + f"\n\n{line}\n".encode() + rest)
    assert exchange(mine, path)
    if mine.read_bytes() != raw:
        exchange(mine, path)
        return False
    return True


def main(role: str, root: str, name: str, count: str) -> None:
    work = {"gate": gate, "append": append, "hands": hands}[role]
    sys.stdout.write(json.dumps(work(World(Path(root)), name, int(count))))


if __name__ == "__main__":
    main(*sys.argv[1:])
