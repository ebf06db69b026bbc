"""The plugin that pytest loads wherever handgrad is installed: the hooks of `grader.learner.pytest_plugin`.

If another package is called `grader`, there are none, and the report of pytest says so in one line.
"""

from __future__ import annotations

import pytest

from . import OtherGraderError, require_own_grader

try:
    require_own_grader()
except OtherGraderError as error:
    _reason = f"handgrad: {error}"

    def pytest_report_header(config: pytest.Config) -> list[str]:
        """Return the line of pytest's report that says why handgrad does nothing."""
        return [_reason]
else:
    from grader.learner.pytest_plugin import *  # noqa: F403
