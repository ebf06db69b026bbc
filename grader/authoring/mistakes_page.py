"""The page docs/mistakes.md, which `tools/mistakes_page.py` writes: every mistake that can be named.

Each operator of `grader.diagnosis.operators` has its example there: a forward pass, wrong gradients of it, and the
sentence about them.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Hashable
from itertools import groupby
from operator import itemgetter

from grader.diagnosis.case import Case, ProgramSample
from grader.diagnosis.operators import OPERATORS
from grader.diagnosis.operators.contract import Example, Operator
from grader.diagnosis.search import explain
from grader.results.codes import CODES, MEANINGS

HEAD = """# Every mistake that can be named

Generated from the operators in `grader/diagnosis/operators/` by `python tools/mistakes_page.py`. For each
public code there are the operators that give it. Each has an example: a forward pass, a backward pass with the mistake,
as a learner writes it, and the sentence that is told. CONTRIBUTING.md says how an operator is added.
"""
CODES_HEAD = """## All codes

A `Misconception` that a course declares and a wrong answer of a quiz name one of these codes, too. CONTRIBUTING.md has
an example of both.
"""


def mistakes_page() -> str:
    """Return `docs/mistakes.md` in Markdown: all codes, and each example of an operator with its sentence.

    The examples are sorted by code, and by operator within one.
    """
    entries = sorted(_entry(operator, example) for operator in OPERATORS for example in operator.examples)
    parts = [HEAD, codes_table()]
    for code, of_code in groupby(entries, key=itemgetter(0)):
        parts += [f"## {code}\n\n{MEANINGS[code]}\n", *(text for _, _, text in of_code)]
    return "\n".join(parts)


def codes_table() -> str:
    """Return a section in Markdown with every public code and what it means."""
    rows = "".join(f"| `{code}` | {meaning} |\n" for code, meaning in MEANINGS.items() if code in CODES)
    return f"{CODES_HEAD}\n| code | meaning |\n|---|---|\n{rows}"


def case_of_example(example: Example) -> Case:
    """Return an example as a case to diagnose: its wrong gradients, and the names of those that are right."""
    samples = [ProgramSample(trial, program, given) for trial, program, given in example.trials()]
    wrong = tuple(name for name in samples[0].given if samples[0].is_wrong(name))
    return Case(samples, wrong, tuple(name for name in samples[0].given if name not in wrong))


def sentences(operator: Operator[Hashable], example: Example) -> tuple[str, list[str]]:
    """Return the code that an operator gives in one of its examples, and the sentences about its gradients."""
    mistakes = list(explain(case_of_example(example), [operator]).values())
    return mistakes[0].code, list(dict.fromkeys(mistake.facts[0].says for mistake in mistakes))


def source_of(example: Example) -> str:
    """Return the source of an example: its forward pass and the function that gives the wrong gradients."""
    return "\n\n\n".join(
        textwrap.dedent(inspect.getsource(function)).rstrip() for function in (example.forward, example.wrong)
    )


def _entry(operator: Operator[Hashable], example: Example) -> tuple[str, str, str]:
    """Return the code, the name of the operator and the text of one example."""
    code, says = sentences(operator, example)
    quoted = "\n>\n".join(f"> {text}" for text in says)
    return code, operator.name, f"### {operator.name}\n\n{quoted}\n\n```python\n{source_of(example)}\n```\n"
