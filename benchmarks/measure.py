"""How long, how much memory, how many bytes: interleaved rounds, CPU beside wall time, peaks in a child process."""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

Q = TypeVar("Q")


@dataclass(frozen=True, slots=True)
class Timing:
    """Milliseconds over `samples` calls. CPU time is that of the whole process, all threads."""

    cpu_p50: float
    wall_p50: float
    wall_p95: float
    samples: int

    @classmethod
    def of(cls, cpu_seconds: Iterable[float], wall_seconds: Iterable[float]) -> Timing:
        cpu, wall = np.array([*cpu_seconds]) * 1e3, np.array([*wall_seconds]) * 1e3
        return cls(float(np.median(cpu)), float(np.median(wall)), float(np.percentile(wall, 95)), len(wall))


@dataclass(frozen=True, slots=True)
class Work:
    """One piece of work done in a child process: its result, its cost, and the child's greatest resident size."""

    value: Any
    cpu_s: float
    wall_s: float
    peak_mb: float


def interleaved(engines: Mapping[str, Callable[[Q], object]], queries: Sequence[Q], rounds: int) -> dict[str, Timing]:
    """Every engine on every query, taking turns; one unmeasured round first."""
    cpu: dict[str, list[float]] = {name: [] for name in engines}
    wall: dict[str, list[float]] = {name: [] for name in engines}
    for round_ in range(rounds + 1):
        for query in queries:
            for name, search in engines.items():
                wall_start, cpu_start = time.perf_counter(), time.process_time()
                search(query)
                cpu_end, wall_end = time.process_time(), time.perf_counter()
                if round_:
                    cpu[name].append(cpu_end - cpu_start)
                    wall[name].append(wall_end - wall_start)
    return {name: Timing.of(cpu[name], wall[name]) for name in engines}


def in_child(work: Callable[..., Any], *arguments: Any) -> Work:
    """Run module-level `work` in a fresh process, so that its peak memory is its own.

    Raises: EOFError when the process ends without a result; its traceback is on stderr then.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_measured, args=(sender, work, arguments))
    child.start()
    sender.close()
    done: Work = receiver.recv()
    child.join()
    return done


def _measured(sender: Connection, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    wall_start, cpu_start = time.perf_counter(), time.process_time()
    value = work(*arguments)
    cpu_s, wall_s = time.process_time() - cpu_start, time.perf_counter() - wall_start
    sender.send(Work(value, cpu_s, wall_s, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))


def folder_bytes(folder: Path) -> int:
    """Bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
