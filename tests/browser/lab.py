"""JupyterLab for tests that look at it: a server of its own on the loopback interface, and pages of its notebooks."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.conftest import ROOT

PICTURES = ROOT / "outputs" / "browser"
PATIENCE_S = 60.0
_FLAGS = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--font-render-hinting=none",
]
_SETTINGS = {
    "@jupyterlab/notebook-extension:tracker": {"autoStartDefaultKernel": True},
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
}
"""No question about kernels or news stands in the way."""
_RUN_ALL = """async () => {
    const panel = window.jupyterapp.shell.currentWidget;
    await panel.revealed;
    await panel.sessionContext.ready;
    await panel.sessionContext.session.kernel.info;
    return await window.jupyterapp.commands.execute("notebook:run-all-cells");
}"""


def chromium_path() -> str | None:
    """Where Debian's Chromium is, if it is installed."""
    return shutil.which("chromium")


@contextmanager
def browser() -> Iterator[Browser]:
    """A headless Chromium with a profile of its own."""
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium_path(), args=_FLAGS)
        yield launched
        launched.close()


class Lab:
    """A running JupyterLab. folder: its notebooks."""

    def __init__(self, folder: Path, url: str, token: str, process: subprocess.Popen[bytes]) -> None:
        self.folder, self.url, self.token, self._process = folder, url, token, process

    def show(self, page: Page, notebook: str, **parameters: Any) -> None:
        """Open a copy of a notebook of the project with these parameters, and run all of its cells."""
        made = nbformat.read(ROOT / "notebooks" / f"{notebook}.ipynb", as_version=4)
        given = next(cell for cell in made.cells if "parameters" in cell.metadata.get("tags", ()))
        given.source += "".join(f"\n{parameter} = {value!r}" for parameter, value in parameters.items())
        name = f"{notebook}-{len(list(self.folder.iterdir()))}.ipynb"
        nbformat.write(made, self.folder / name)
        page.goto(f"{self.url}doc/tree/{name}?token={self.token}")
        self.run_all(page)

    @contextmanager
    def unreachable(self) -> Iterator[None]:
        """The server answers nobody while the block runs."""
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def run_all(self, page: Page) -> None:
        """Run all cells of the notebook that is open, to their end."""
        page.wait_for_function("() => window.jupyterapp?.shell.currentWidget?.sessionContext")
        assert page.evaluate(_RUN_ALL), "a cell failed"


@contextmanager
def in_the_dark(page: Page) -> Iterator[None]:
    """JupyterLab in its dark theme while the block runs."""
    _turn(page, "Dark")
    yield
    _turn(page, "Light")


def _turn(page: Page, theme: str) -> None:
    """Change the theme, and wait for the splash that JupyterLab draws over everything meanwhile to go."""
    page.evaluate(
        "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", f"JupyterLab {theme}"
    )
    expect(page.locator("body")).to_have_attribute("data-jp-theme-light", str(theme == "Light").lower())
    page.locator("#jupyterlab-splash").wait_for(state="detached")


@contextmanager
def running_lab(folder: Path) -> Iterator[Lab]:
    """A JupyterLab that serves `folder`/notebooks; ended, with its kernels, when the block does."""
    places = {name: folder / name for name in ("notebooks", "runtime", "config", "data", "ipython")}
    for place in places.values():
        place.mkdir(parents=True)
    overrides = places["config"] / "labconfig" / "default_setting_overrides.json"
    overrides.parent.mkdir()
    overrides.write_text(json.dumps(_SETTINGS), encoding="utf-8")
    environment = {
        **os.environ,
        "JUPYTER_RUNTIME_DIR": str(places["runtime"]),
        "JUPYTER_CONFIG_DIR": str(places["config"]),
        "JUPYTER_DATA_DIR": str(places["data"]),
        "IPYTHONDIR": str(places["ipython"]),
        "WORKBENCH_ENGINE": "fake",
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--ip=127.0.0.1", "--port=0", "--allow-root"]
    command += ["--LabApp.expose_app_in_browser=True"]
    command += [f"--ServerApp.root_dir={places['notebooks']}"]
    with (folder / "lab.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
        try:
            record = _record(places["runtime"] / f"jpserver-{process.pid}.json", process)
            yield Lab(places["notebooks"], record["url"], record["token"], process)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=PATIENCE_S)


def keep_picture(page: Page, name: str) -> None:
    """A screenshot that CI keeps."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURES / f"{name}.png")


def _record(file: Path, process: subprocess.Popen[bytes]) -> dict[str, Any]:
    """What the server says of itself once it listens."""
    ends = time.monotonic() + PATIENCE_S
    while not file.exists() or not file.read_bytes().endswith(b"}"):
        assert process.poll() is None and time.monotonic() < ends, "JupyterLab did not start; its lab.log says why"
        time.sleep(0.05)
    record: dict[str, Any] = json.loads(file.read_bytes())
    return record
