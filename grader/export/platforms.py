"""The platforms that results are exported to, by the names that `handgrad export --to` takes."""

from __future__ import annotations

from collections.abc import Mapping

from .exporter import Exporter, each
from .feedback import feedback
from .github import github
from .grade_sheets import canvas, moodle
from .gradescope import results_json
from .json_results import classroom50, prairielearn, submitty
from .junit import junit
from .vpl import vpl

PLATFORMS: Mapping[str, Exporter] = {
    "gradescope": each(results_json),
    "prairielearn": each(prairielearn),
    "junit": each(junit),
    "classroom50": each(classroom50),
    "github": each(github),
    "canvas": canvas,
    "moodle": moodle,
    "submitty": each(submitty),
    "vpl": each(vpl),
    "feedback": each(feedback),
}
