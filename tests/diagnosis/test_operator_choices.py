"""Where operators can be applied, and what there is to choose: the program decides, and not chance."""

from __future__ import annotations

import re

import pytest

from grader.diagnosis.operators import contract, places


def test_a_code_that_nothing_lists_is_refused_with_the_place_of_the_list() -> None:
    register = contract.operator("cubed", code="no-such", rank=1.0, at=places.edges, message="it is cubed")
    with pytest.raises(ValueError, match=re.escape("no-such is not a code of grader.results.codes")):
        register(lambda program, place, choice: program)
