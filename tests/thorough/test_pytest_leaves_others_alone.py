"""pytest beside a stranger's project changes none of its reports, and imports nothing else of handgrad."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from test_pytest_beside import lay_out

pytest_plugins = ["pytester"]


def test_a_strangers_report_is_not_written_again(pytester: pytest.Pytester) -> None:
    """Their attributes, their order, their line ends: byte by byte but for the times."""
    lay_out(pytester.path)
    reports = []
    for name, options in (("here", ()), ("without", ("-p", "no:handgrad"))):
        pytester.runpytest_inprocess("exercises", "-p", "no:randomly", f"--junitxml={name}.xml", *options)
        written = (pytester.path / f"{name}.xml").read_text()
        assert ElementTree.fromstring(written)[0].get("tests") == "4"
        reports.append(re.sub(r'(time|timestamp)="[^"]*"', "", written))
    assert reports[0] == reports[1]


@pytest.mark.slow
def test_nothing_else_of_handgrad_is_imported_beside_a_strangers_tests(tmp_path: Path) -> None:
    """What it costs is two small modules: no YAML, no numpy, and no more of ours."""
    lay_out(tmp_path, "course: Biology\nunits: 12\n")
    (tmp_path / "conftest.py").write_text(
        "import sys\n"
        "def pytest_unconfigure():\n"
        "    heavy = {'yaml', 'numpy', 'torch', 'pydantic', 'rich', 'typer'}\n"
        "    print('IMPORTED', *sorted(m for m in sys.modules if m.split('.')[0] in {'grader', 'handgrad', *heavy}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "exercises", "-p", "no:hypothesispytest", "-p", "no:randomly"],
        cwd=tmp_path, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("IMPORTED")]
    ours = ["grader", "grader.learner", "grader.learner.pytest_folders", "grader.learner.pytest_plugin", "handgrad"]
    ours.append("handgrad.pytest_plugin")
    assert line.split()[1:] == ours
