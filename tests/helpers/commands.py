"""Run the command `handgrad` inside this process; a plugin of pytest."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.cli import main as cli

Typed = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Typed:
    """Return a function that runs a command in this process: `typed("check", "slope", cwd=folder, columns=60)`.

    It fails if the command prints a traceback.
    """
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*arguments: str, cwd: Path | None = None, columns: int = 80) -> subprocess.CompletedProcess[str]:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr(sys, "argv", ["handgrad", *arguments])
        if cwd is not None:
            monkeypatch.chdir(cwd)
        capfd.readouterr()
        code = 0
        try:
            cli.main()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
        out, err = capfd.readouterr()
        assert "Traceback" not in out + err, err
        return subprocess.CompletedProcess(list(arguments), code, out, err)

    return run
