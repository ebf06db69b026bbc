"""Skip tests whose programs are not installed, or let skipped tests fail; a plugin of pytest."""

from __future__ import annotations

import shutil
from collections.abc import Generator
from typing import Any

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker of tests that need programs."""
    config.addinivalue_line("markers", "needs(*programs): is skipped on a machine where one of these is not installed.")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare `--no-skips`."""
    parser.addoption("--no-skips", action="store_true", help="a test that is skipped has failed")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose programs are not installed, with the reason."""
    needed = [program for marker in item.iter_markers("needs") for program in marker.args]
    if lacking := [program for program in needed if shutil.which(program) is None]:
        pytest.skip(f"not installed here: {', '.join(lacking)}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Report a skipped test as failed under `--no-skips`."""
    report = yield
    return _failed_if_skipped(item.config, report)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Report a file that is skipped as a whole as failed under `--no-skips`."""
    report = yield
    return _failed_if_skipped(collector.config, report)


def _failed_if_skipped(config: pytest.Config, report: Any) -> Any:
    """Return the report, as a failure if it is a skip and `--no-skips` is given."""
    if config.option.no_skips and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome, report.longrepr = "failed", f"{reason}: under --no-skips nothing may be skipped"
    return report
