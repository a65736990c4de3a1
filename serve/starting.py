"""Finding the running service of a home, or starting one. Imports neither the SDK nor the engine."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Thread

from serve.place import Place
from workbench.storage.files import FILE_MODE

LINGER_S = 5.0
"""How long a service that was started here outlives its last client: one that comes back finds warm models."""
START_TIMEOUT_S, LOOK_S = 30.0, 0.02


def hello(roots: Sequence[Path]) -> bytes:
    """What a connection says first: the memories that it is about; the first one is meant where none is named."""
    return json.dumps({"projects": [str(root) for root in roots]}).encode() + b"\n"


def connected(home: Path) -> socket.socket | None:
    """A connection to the service, which is started where none runs; None when that does not work.

    Of several that start at once only one stays; the others end with status 0, and whoever started them finds it.
    """
    place, started, ends = Place.of(home), None, time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < ends:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(str(place.mcp_socket))
        except OSError:
            connection.close()
        else:
            return connection
        if started is None:
            try:
                started = _start(home, place)
            except OSError:
                return None
        elif started.poll() is not None:
            if started.returncode != 0:
                return None
            started = None
        time.sleep(LOOK_S)
    return None


def _start(home: Path, place: Place) -> subprocess.Popen[bytes]:
    """The service in a session of its own; it ends when no client has been there for a while."""
    # Without -P a folder `workbench` or `serve` in the current folder would be run instead.
    command = [sys.executable, "-P", "-m", "workbench", "serve", "--socket", "--linger", str(LINGER_S)]
    place.log.touch(mode=FILE_MODE)
    with place.log.open("ab") as log:
        started = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=os.environ | {"WORKBENCH_HOME": str(home)},
            cwd=place.folder,
            start_new_session=True,
        )
    Thread(target=started.wait, daemon=True).start()  # so that it leaves no zombie when it ends before this process
    return started
