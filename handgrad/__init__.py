"""handgrad: exercises on writing gradients by hand, and the grader that names each mistake.

Specs, notebooks, scripts and configurations import this package. Each name is imported from `grader` at its first use,
so that reading a spec imports no torch.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the same names as in `_NAMES`, for type checkers and editors
    from grader import __version__ as __version__
    from grader.course.exercise import Answer as Answer
    from grader.course.exercise import Exercise as Exercise
    from grader.course.exercise import InSteps as InSteps
    from grader.course.exercise import Misconception as Misconception
    from grader.course.exercise import Routine as Routine
    from grader.course.exercise import in_steps as in_steps
    from grader.course.exercise import returned as returned
    from grader.course.exercise import returned_jacobian as returned_jacobian
    from grader.course.exercise import returned_value as returned_value
    from grader.course.exercise import stored as stored
    from grader.course.sampling import Array as Array
    from grader.course.sampling import BackwardPass as BackwardPass
    from grader.course.sampling import Dtype as Dtype
    from grader.course.sampling import Function as Function
    from grader.course.sampling import Sampler as Sampler
    from grader.course.sampling import accumulating as accumulating
    from grader.course.sampling import away_from as away_from
    from grader.course.sampling import backward_passes as backward_passes
    from grader.course.sampling import each_of as each_of
    from grader.course.sampling import indices as indices
    from grader.course.sampling import mask as mask
    from grader.course.sampling import normal as normal
    from grader.course.sampling import number as number
    from grader.course.sampling import output as output
    from grader.course.sampling import positive as positive
    from grader.course.sampling import shape as shape
    from grader.course.sampling import signs as signs
    from grader.course.sampling import sized as sized
    from grader.course.sampling import spaced as spaced
    from grader.course.sampling import step as step
    from grader.course.sampling import taking_turns as taking_turns
    from grader.course.sampling import tried as tried
    from grader.course.sampling import uniform as uniform
    from grader.course.sampling import upstream as upstream
    from grader.course.sampling import wanted as wanted
    from grader.course.sampling import weights as weights
    from grader.course.sampling import withheld as withheld
    from grader.course.trial_sizes import LARGER_KIND as LARGER_KIND
    from grader.course.trial_sizes import Setting as Setting
    from grader.diagnosis.edited import edited as edited
    from grader.diagnosis.engines import Engine as Engine
    from grader.diagnosis.engines import right_gradients as right_gradients
    from grader.diagnosis.examination import examination as examination
    from grader.diagnosis.examination import source_of as source_of
    from grader.diagnosis.forward_mode import ForwardMode as ForwardMode
    from grader.errors import HandgradError as HandgradError
    from grader.explain.explain import explain as explain
    from grader.explain.explanation import Explanation as Explanation
    from grader.nbgrader.cells import check as check
    from grader.nbgrader.cells import score as score
    from grader.nbgrader.feedback import SummaryFirst as SummaryFirst
    from grader.nbgrader.plugin import ExplainScores as ExplainScores
    from grader.nbgrader.plugin import SecureExecute as SecureExecute
    from grader.nbgrader.plugin import SubmissionExporter as SubmissionExporter
    from grader.nbgrader.restore import RestoreCells as RestoreCells
    from grader.nbgrader.source_notebook import KeepStubs as KeepStubs
    from grader.nbgrader.submission import find_renamed as find_renamed

_NAMES = {
    "grader": "__version__",
    "grader.diagnosis.edited": "edited",
    "grader.diagnosis.engines": "Engine right_gradients",
    "grader.diagnosis.examination": "examination source_of",
    "grader.diagnosis.forward_mode": "ForwardMode",
    "grader.errors": "HandgradError",
    "grader.course.exercise": (
        "Answer Exercise InSteps Misconception Routine in_steps returned returned_jacobian returned_value stored"
    ),
    "grader.explain.explain": "explain",
    "grader.explain.explanation": "Explanation",
    "grader.nbgrader.feedback": "SummaryFirst",
    "grader.nbgrader.plugin": "ExplainScores SecureExecute SubmissionExporter",
    "grader.nbgrader.source_notebook": "KeepStubs",
    "grader.nbgrader.restore": "RestoreCells",
    "grader.nbgrader.submission": "find_renamed",
    "grader.nbgrader.cells": "check score",
    "grader.course.sampling": (
        "Array BackwardPass Dtype Function Sampler accumulating away_from backward_passes each_of indices mask normal "
        "number output positive shape signs sized spaced step taking_turns tried uniform upstream wanted weights "
        "withheld"
    ),
    "grader.course.trial_sizes": "LARGER_KIND Setting",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}
_MARK = '"""handgrad: '  # the first characters of handgrad's own grader/__init__.py


class OtherGraderError(ImportError):
    """Report that `import grader` would import another package of this name than handgrad's own."""

    def _render_traceback_(self) -> list[str]:
        """Return the lines that a notebook shows in place of a traceback."""
        return [f"handgrad: {self}"]


@cache
def require_own_grader() -> None:
    """Check that `import grader` would import handgrad's own package; it is found without being imported.

    Raises:
        OtherGraderError: another package of this name would be imported, or there is none.
    """
    try:
        origin = getattr(find_spec("grader"), "origin", None)
    except ValueError:  # a module without a file was put into sys.modules by hand
        origin = None
    if origin is None:
        raise OtherGraderError("The package grader, which handgrad brings, is missing: install handgrad again.")
    if not Path(origin).read_text(encoding="utf-8", errors="replace").startswith(_MARK):
        raise OtherGraderError(
            f"{origin} is another package called grader, and hides the one that handgrad brings: rename it or "
            "uninstall it, and install handgrad again."
        )


def grader_module(name: str) -> ModuleType:
    """Import a module of handgrad's own `grader` by its full name, and return it.

    Raises:
        OtherGraderError: another package has the name `grader`.
    """
    require_own_grader()
    return import_module(name)


def __getattr__(name: str) -> Any:
    """Return the value of a public name, imported from `grader` at its first use.

    Raises:
        AttributeError: there is no such public name.
    """
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(grader_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(_MODULES)
