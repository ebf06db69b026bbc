"""What pytest loads wherever handgrad is installed: the hooks of `grader.learner.pytest_plugin`.

Beside another package called `grader` there are none, and pytest says so in one line and goes on.
"""

from __future__ import annotations

import pytest

from . import OtherGraderError, require_own_grader

try:
    require_own_grader()
except OtherGraderError as error:
    _why = f"handgrad: {error}"

    def pytest_report_header(config: pytest.Config) -> list[str]:
        """Return the line that says why handgrad does nothing."""
        return [_why]
else:
    from grader.learner.pytest_plugin import *  # noqa: F403
