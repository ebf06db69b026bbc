"""A student's afternoon in JupyterLab and an instructor's in formgrader, in a browser."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from helpers.nbgrader_class import (
    BMM,
    RIGHT,
    ROOT,
    UNIT,
    environment,
    hand_in,
    nbgrader_process,
    released_folder,
    totals,
)
from helpers.nbgrader_students import WRONG

from grader.course.course import COURSE_VARIABLE

CHROMIUM = shutil.which("chromium")
if CHROMIUM is None:
    pytest.skip("Debian's chromium is not installed: apt-get install chromium", allow_module_level=True)
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install .[browser]")
NAME = f"{UNIT}.ipynb"
PATIENCE = 240_000  # milliseconds that a page may take on a busy machine


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@contextmanager
def jupyter(folder: Path, course: Path) -> Iterator[str]:
    """Serve a folder with JupyterLab and nbgrader's extensions; gives the address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--no-browser", "--allow-root", f"--port={port}", "--IdentityProvider.token="]
    options.append(f"--ServerApp.root_dir={folder}")
    variables = {COURSE_VARIABLE: str(course), "PYTHONPATH": str(ROOT)}
    with (folder.parent / f"{folder.name}.log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyter", "lab", *options],
            cwd=folder, env=environment(folder.parent, **variables), stdout=log, stderr=log,
        )  # fmt: skip
        address = f"http://127.0.0.1:{port}"
        try:
            while True:
                assert server.poll() is None, Path(log.name).read_text()
                try:
                    urlopen(f"{address}/api", timeout=10).close()
                    break
                except (URLError, OSError):
                    time.sleep(0.2)
            yield address
        finally:
            server.terminate()
            server.wait(60)


def validated(page: Any) -> str:
    """Press Validate, and return what its dialog shows."""
    dialog = page.locator(".jp-Dialog-content").filter(has_not_text="has changed on disk")
    overwrite = page.get_by_role("button", name="Overwrite")  # asked where a save is slower than the next one
    page.get_by_role("button", name="Validate").first.click()
    dialog.or_(overwrite).first.wait_for()
    if overwrite.is_visible():
        overwrite.click()
    dialog.wait_for()
    shown = str(dialog.inner_text())
    dialog.locator("button").last.click()
    dialog.wait_for(state="detached")
    return shown


def write(page: Any, notebook: Path, name: str, source: str) -> None:
    """Replace the text of an exercise's cell, run it, and save the notebook."""
    editor = page.locator(".jp-CodeCell .cm-content").filter(has_text=f"def {name}(").first
    editor.scroll_into_view_if_needed()
    editor.click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(source.strip())
    page.keyboard.press("Control+Enter")
    page.keyboard.press("Control+s")
    deadline = time.monotonic() + PATIENCE / 1000
    last = source.strip().splitlines()[-1].strip()
    while last not in notebook.read_text():
        assert time.monotonic() < deadline, notebook.read_text()
        page.wait_for_timeout(200)
        page.keyboard.press("Control+s")


def test_a_student_answers_in_jupyterlab_and_an_instructor_grades_in_formgrader(browser: Any, tmp_path: Path):
    folder = released_folder(tmp_path)
    student = tmp_path / "ada"
    shutil.copytree(folder / "release" / UNIT, student)
    page = browser.new_page(viewport={"width": 1400, "height": 4000})
    page.set_default_timeout(PATIENCE)
    page.add_locator_handler(page.get_by_role("button", name="Overwrite"), lambda button: button.click())
    with jupyter(student, tmp_path) as address:
        page.goto(f"{address}/lab/tree/{NAME}?reset")
        page.locator(".jp-CodeCell .cm-content").first.wait_for()
        shown = validated(page)
        assert "not attempted yet" in shown
        assert "Partial credit" not in shown
        write(page, student / NAME, "lin_grad", WRONG)
        write(page, student / NAME, "bmm_grad", BMM)
        assert "mean-for-sum" in validated(page)
        write(page, student / NAME, "lin_grad", RIGHT)
        assert "Success" in validated(page)
    hand_in(folder, "ada", (student / NAME).read_bytes())
    hand_in(folder, "bob", (folder / "release" / UNIT / NAME).read_bytes())
    hand_in(folder, "cem", b"{")
    nbgrader_process("autograde", UNIT, cwd=folder)
    nbgrader_process("generate_feedback", UNIT, cwd=folder)
    assert totals(folder) == {"ada": 5.0, "bob": 0.0, "cem": None}
    with jupyter(folder, tmp_path) as address:
        page.goto(f"{address}/formgrader/gradebook/{UNIT}/{UNIT}")
        page.get_by_text("needs manual grade").or_(page.locator("tbody tr")).first.wait_for()
        page.wait_for_function("document.querySelectorAll('tbody tr').length >= 3")
        rows = page.locator("tbody").inner_text()
        assert "5 / 5" in rows
        assert "0 / 5" in rows
    for name, text in {
        "ada": "5 of 5 points",
        "bob": "not attempted yet",
        "cem": "no notebook that can be read",
    }.items():
        page.goto((folder / "feedback" / name / UNIT / f"{UNIT}.html").as_uri())
        assert text in page.locator("body").inner_text()
