"""Where graded runs cannot work, one submission is not graded either, and an earlier run's results stay."""

from __future__ import annotations

from pathlib import Path

from test_isolation import handed_in, handgrad
from test_worker_probe import NOWHERE, assert_nothing_is_read_or_written


def test_nothing_is_read_or_written_where_no_worker_answers(tmp_path: Path) -> None:
    assert_nothing_is_read_or_written("--one", tmp_path)


def test_what_an_earlier_run_left_stays_as_it_is(tmp_path: Path) -> None:
    school, out = handed_in(tmp_path), tmp_path / "grades"
    assert handgrad("grade", str(school), "--out", str(out), "--workers", "1").returncode == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    (school / "bob" / "04_linear").mkdir(parents=True)
    (school / "bob" / "04_linear" / "lin_grad.py").write_text("def lin_grad(inp, out, w, b): ...\n")
    assert handgrad("grade", str(school), "--out", str(out), code=NOWHERE).returncode == 3
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
