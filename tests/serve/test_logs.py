"""What the log takes over from libraries: which one, where and what kind, and no value of anybody."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.conftest import ROOT

SCRIPT = """
import asyncio, gc, logging
from serve.logs import set_up_logs

set_up_logs()

async def fail():
    raise ValueError("secret")

async def main():
    task = asyncio.ensure_future(fail())
    await asyncio.sleep(0)
    del task
    gc.collect()
    asyncio.get_running_loop().call_exception_handler({"message": "Trouble", "who": "secret"})

asyncio.run(main())
logging.getLogger("some.library").warning("dropped %r", "secret")
logging.getLogger("some.library").info("secret")
"""


def test_a_library_names_its_trouble_without_the_values_in_it() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=ROOT, capture_output=True, text=True, check=True)
    events = [json.loads(line) for line in done.stderr.splitlines()]
    assert [event["message"] for event in events] == ["Task exception was never retrieved", "Trouble", "dropped %r"]
    assert events[0]["type"] == "ValueError"
    assert "secret" not in done.stderr + done.stdout
