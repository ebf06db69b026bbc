"""Every submission of the corpus, with its expected codes, and every honest variant, in every isolation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

import pytest
import test_check_and_grade as short
from helpers.corpus import PAGES, graded_codes, graded_result
from helpers.grading import codes
from helpers.honest_variants import FAILS, PASSES
from helpers.sentences import faults_of_sentences
from helpers.workers import strongest

from grader.child.protocol import Frame
from grader.course.course import Course
from grader.judging.grading import Grader
from grader.sandbox.isolation import Isolation
from grader.sandbox.worker import Unanswered, Worker

both = short.both
WEAKER = tuple(mode for mode in ("box", "kernel") if mode != strongest())


@pytest.fixture(params=("box", "kernel"))
def isolation(request: pytest.FixtureRequest) -> Isolation:
    """Each isolation that keeps learner code in."""
    return request.param


weaker = pytest.mark.parametrize("isolation", WEAKER)


@weaker
@pytest.mark.parametrize("name", PASSES)
def test_an_honest_file_passes_in_both(name: str, both: short.Both) -> None:
    short.test_an_honest_file_passes_in_both(name, both)


@weaker
@pytest.mark.parametrize("name", FAILS)
def test_what_neither_has_is_told_by_both(name: str, both: short.Both) -> None:
    short.test_what_neither_has_is_told_by_both(name, both)


@dataclass
class Remembering:
    """A worker that keeps what it was asked, and what was replied."""

    worker: Worker
    met: list[tuple[tuple[Frame, float], Frame | Unanswered]] = field(default_factory=list)

    @property
    def isolation(self) -> Isolation:
        return self.worker.isolation

    def run(self, job: Frame, time_limit: float) -> Frame | Unanswered:
        reply = self.worker.run(job, time_limit)
        self.met.append(((job, time_limit), reply))
        return reply


def seen(reply: Frame | Unanswered) -> object:
    """All that a verdict is made from, to the bit."""
    if isinstance(reply, Unanswered):
        return reply.end, reply.detail
    calls = [{**call, "peak": None} for call in reply.header["calls"]]  # of interest to few: they are graded
    return {**reply.header, "calls": calls}, [(a.dtype, a.shape, a.tobytes()) for a in reply.arrays]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_of_the_corpus_gets_its_expected_codes_everywhere(
    name: str, course: Course, grader: Grader, warm: Callable[[str], Worker]
) -> None:
    """Its code is seen to do the same; where it is not, or an array must never be held, the verdicts are compared.

    Every sentence names what a learner has seen.
    All of it in a box, which the other levels are parts of, and a part in each of these.
    """
    wrong = {}
    for place, one in enumerate(PAGES[name]):
        check, *graded = (warm(level) for level in ("fork", "box", *{3: ["kernel"], 7: ["seccomp"]}.get(place % 8, [])))
        remembering = Remembering(check)
        result = graded_result(one, course, grader, cast(Worker, remembering))
        verdicts, exercise = [codes(result)], course.find(one.exercise)
        assert faults_of_sentences(one, exercise, result) == [], one.id
        job, reply = remembering.met[0]
        held = exercise.function.never_holds
        if held or any(seen(worker.run(*job)) != seen(reply) for worker in graded):
            verdicts += [graded_codes(one, course, grader, worker) for worker in graded]
        by_chance = any("not-repeatable" in allowed for allowed in one.expected.values())
        if any(map(one.mismatches, verdicts)) or not (by_chance or verdicts == [verdicts[0]] * len(verdicts)):
            wrong[one.id] = verdicts
    assert wrong == {}
