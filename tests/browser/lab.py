"""JupyterLab in headless Chromium: a server, a notebook page, cells run by command, values read from the kernel."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.browser.watched import Watched
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator

ROOT = Path(__file__).resolve().parents[2]

#: What a page waits for at most, on a busy machine.
PATIENCE_MS = int(1000 * PATIENCE_S)

_KERNEL = """
async (code) => {
  const panel = window.jupyterapp.shell.currentWidget;
  const kernel = panel.sessionContext.session.kernel;
  const future = kernel.requestExecute({code, store_history: false});
  let text = '';
  future.onIOPub = (message) => {
    if (message.header.msg_type === 'stream') text += message.content.text;
    if (message.header.msg_type === 'error') text += 'ERROR ' + message.content.evalue;
  };
  await future.done;
  return text;
}
"""


@dataclass
class Server:
    """A running `jupyter lab` (or `voila`) that serves one folder on loopback."""

    process: subprocess.Popen[bytes]
    url: str
    folder: Path

    def stop(self) -> None:
        """End it and its kernels; one that is busy with something else is killed."""
        self.process.terminate()
        try:
            self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def start_server(folder: Path, command: Sequence[str], ready: str) -> Server:
    """Start a server on a free port and wait until it answers.

    Parameters
    ----------
    folder : Path
        Served; its ``log.txt`` takes what the server prints.
    command : sequence of str
        Module and arguments; ``{port}`` is put in.
    ready : str
        Path that answers when the server is up.
    """
    own = folder / "jupyter-home"
    settings = own / "lab" / "settings"
    settings.mkdir(parents=True, exist_ok=True)
    (settings / "overrides.json").write_text(
        json.dumps({"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}})
    )
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "JUPYTER_CONFIG_DIR": str(own / "config"),
        "JUPYTER_RUNTIME_DIR": str(own / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(own / "user-settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(own / "workspaces"),
        "IPYTHONDIR": str(own / "ipython"),
    }
    # Somebody else may take the port before the server does.
    for _ in range(5):
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            port = listener.getsockname()[1]
        with (folder / "log.txt").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", *(part.format(port=port) for part in command)],
                cwd=folder,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
            )
        server = Server(process, f"http://127.0.0.1:{port}", folder)
        if _answers(server, ready):
            return server
        server.stop()
    raise RuntimeError(f"the server did not come up: {(folder / 'log.txt').read_text()[-2000:]}")


def _answers(server: Server, path: str) -> bool:
    """Wait until a server answers; False where its process has ended."""
    give_up = time.monotonic() + PATIENCE_S
    while server.process.poll() is None and time.monotonic() < give_up:
        try:
            with urllib.request.urlopen(server.url + path, timeout=10):
                return server.process.poll() is None
        except OSError:
            time.sleep(0.2)
    return False


def start_lab(folder: Path) -> Server:
    """JupyterLab without a token, its application object exposed to the page."""
    app_settings = folder / "jupyter-home" / "lab" / "settings"
    # Each page would otherwise start a Node process to ask whether JupyterLab should be built anew.
    page = folder / "jupyter-home" / "config" / "labconfig" / "page_config.json"
    page.parent.mkdir(parents=True)
    page.write_text(json.dumps({"buildAvailable": False, "buildCheck": False}))
    return start_server(
        folder,
        [
            "jupyterlab",
            "--no-browser",
            "--allow-root",
            "--expose-app-in-browser",
            "--port={port}",
            "--port-retries=0",
            "--ip=127.0.0.1",
            "--IdentityProvider.token=",
            "--ServerApp.password=",
            # The kernels of closed pages would fill the memory: a hundred, each with the workbench in it.
            "--MappingKernelManager.cull_idle_timeout=120",
            "--MappingKernelManager.cull_interval=20",
            "--LabApp.news_url=",
            f"--LabApp.app_settings_dir={app_settings}",
        ],
        "/api/status",
    )


@dataclass
class Notebook(Watched):
    """An open notebook page with the outside network cut."""

    server: Server
    name: str

    def run(self, index: int) -> None:
        """Select and run the cell with this number, and wait until the kernel is idle again."""
        self.page.evaluate(
            """async (index) => {
                const panel = window.jupyterapp.shell.currentWidget;
                panel.content.activeCellIndex = index;
                await window.jupyterapp.commands.execute('notebook:run-cell');
            }""",
            index,
        )

    def run_all(self) -> None:
        """Run every cell, top to bottom."""
        self.page.evaluate("async () => { await window.jupyterapp.commands.execute('notebook:run-all-cells'); }")

    def restart(self) -> None:
        """Restart the kernel without asking, keeping the outputs as they are."""
        self.page.evaluate(
            """async () => {
                const panel = window.jupyterapp.shell.currentWidget;
                await panel.sessionContext.session.kernel.restart();
            }"""
        )

    def kernel(self, expression: str) -> Any:
        """The value of a Python expression in the notebook's kernel, by JSON."""
        code = f"import json as _json\nprint('<<' + _json.dumps({expression}) + '>>')"
        text = self.page.evaluate(_KERNEL, code)
        found = re.search(r"<<(.*)>>", text, re.DOTALL)
        assert found, f"{expression}: {text}"
        return json.loads(found[1])

    def panel(self, name: str, nth: int = 0) -> Locator:
        """The root of a widget of ours that has drawn itself."""
        root = self.page.locator(f".wb-{name}[data-ready=true]").nth(nth)
        try:
            root.wait_for(state="visible", timeout=PATIENCE_MS)
        except Exception as error:
            shown = self.page.locator(".jp-OutputArea-output").all_inner_texts()
            raise AssertionError(f"{name} did not draw itself: {shown} {self.complaints}") from error
        return root

    def settle(self, panel: Locator) -> None:
        """Wait until every request of the widget is answered."""
        panel.page.wait_for_function(
            "element => (element.dataset.pending ?? '0') === '0'", arg=panel.element_handle(), timeout=PATIENCE_MS
        )

    def screenshot(self, panel: Locator, name: str) -> Path:
        """Save a picture of the widget under ``out/screenshots`` to be looked at."""
        folder = ROOT / "out" / "screenshots"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}.png"
        panel.screenshot(path=path)
        return path


def open_notebook(browser: Browser, server: Server, name: str, cells: Sequence[str], theme: str = "light") -> Notebook:
    """Write a notebook of code cells into the server's folder and open it in a fresh page of 1500 x 1000 pixels."""
    import nbformat

    document = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    document.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(document, server.folder / f"{name}.ipynb")
    return open_page(browser, server, name, theme)


def open_page(browser: Browser, server: Server, name: str, theme: str = "light") -> Notebook:
    """Open a notebook of the server's folder in a fresh page; one that is open already shares its kernel."""
    context = browser.new_context(viewport={"width": 1500, "height": 1000}, color_scheme=theme)  # type: ignore[arg-type]
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    notebook = Notebook(page, server, name)
    notebook.cut_off(server.url, "data:", "blob:")
    page.goto(f"{server.url}/doc/tree/{name}.ipynb?reset", timeout=PATIENCE_MS)
    page.wait_for_function("() => window.jupyterapp?.shell?.currentWidget?.sessionContext", timeout=PATIENCE_MS)
    page.evaluate(
        """async () => {
            await window.jupyterapp.restored;
            const panel = window.jupyterapp.shell.currentWidget;
            await panel.revealed;
            await panel.sessionContext.ready;
            await panel.sessionContext.session.kernel.info;
        }"""
    )
    # The server remembers the theme of the page before.
    page.evaluate(
        "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", f"JupyterLab {theme.title()}"
    )
    return notebook
