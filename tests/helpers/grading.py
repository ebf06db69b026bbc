"""Grade single submissions and classes with a warm worker; a plugin of pytest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from grader.child.protocol import Frame
from grader.course.course import Course, CourseExercise
from grader.judging import grading_pool, new_grader
from grader.results.records import ExerciseResult
from grader.sandbox.isolation import Isolation
from grader.sandbox.worker import Unanswered, Worker
from helpers.courses import SEED, TIME_LIMIT, with_policy
from helpers.workers import make_job

if TYPE_CHECKING:  # it imports torch, which takes a second of the process that only deals out the tests
    from grader.judging.grading import Grader
    from grader.reference.trials import TrialsOfRun

Grade = Callable[..., ExerciseResult]


@pytest.fixture(scope="session")
def grader() -> Grader:
    """Return the session's grader, of exercises of any course: it computes each reference once for a text of a spec."""
    import grader.diagnosis.diagnose  # noqa: F401  before a pytest within this one, which forgets what it imports first
    from grader.judging.grading import Grader

    class GraderOfCourses(Grader):
        """Grade exercises of several courses: those with one id are the same only if their specs have one text."""

        def __init__(self, seed: int) -> None:
            super().__init__(seed)
            self.graders: dict[bytes, Grader] = {}

        def grader_of(self, exercise: CourseExercise) -> Grader:
            spec = exercise.course.spec(exercise.unit)
            return self.graders.setdefault(spec.read_bytes() if spec.is_file() else b"", Grader(self.seed))

        def prepare(self, exercises: Iterable[CourseExercise], *, isolated: bool) -> bool:
            new = [self.grader_of(exercise).prepare([exercise], isolated=isolated) for exercise in exercises]
            return any(new)

        def trials(self, exercise: CourseExercise) -> TrialsOfRun:
            return self.grader_of(exercise).trials(exercise)

    return GraderOfCourses(SEED)


class SharedWorker:
    """A warm worker that several grading processes use, one at a time: closing it has no effect.

    Args:
        worker: the worker.
        lock: a file that is locked while a process uses the worker, or else it reads what another one was answered.
    """

    def __init__(self, worker: Worker, lock: Path) -> None:
        self.worker, self.isolation, self.pid = worker, worker.isolation, worker.pid
        self.lock = lock

    def run(self, job: Frame, time_limit: float) -> Frame | Unanswered:
        import fcntl  # which Windows does not have

        with self.lock.open("w") as lock:  # opened here, because processes that share a descriptor share its lock
            fcntl.flock(lock, fcntl.LOCK_EX)
            return self.worker.run(job, time_limit)

    def close(self) -> None: ...

    def __enter__(self) -> SharedWorker:
        return self

    def __exit__(self, *_: object) -> None: ...


@pytest.fixture(scope="session")
def shared_worker(
    warm: Callable[[str], Worker], worker: Worker, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Isolation], SharedWorker]:
    """Return a function from an isolation to the session's worker of it, for several grading processes."""
    locks = tmp_path_factory.mktemp("locks")

    def shared(isolation: Isolation) -> SharedWorker:
        chosen = worker if isolation == "none" else warm(isolation)
        chosen.run(make_job("def probe(): pass", {}), TIME_LIMIT)  # its first reply says that it is ready
        return SharedWorker(chosen, locks / isolation)

    return shared


@pytest.fixture(scope="session")
def shared_pool(
    shared_worker: Callable[[Isolation], SharedWorker], grader: Grader
) -> Callable[[], AbstractContextManager[None]]:
    """Return a context manager within which classes are graded with the session's workers and its grader."""

    @contextmanager
    def patched() -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(grading_pool, "start_worker", shared_worker)
            patch.setattr(grading_pool, "new_grader", lambda seed: grader)
            yield

    return patched


@pytest.fixture(scope="module")
def warm_pool(shared_pool: Callable[[], AbstractContextManager[None]]) -> Iterator[None]:
    """Make class grading use the session's workers and its grader."""
    with shared_pool():
        yield


@pytest.fixture
def grade(course: Course, worker: Worker, grader: Grader) -> Grade:
    """Return a function that grades a learner's text, bytes, or `None` for no file: `grade("lin_grad", source)`."""

    def graded(exercise_id: str, content: str | bytes | None, **changed: Any) -> ExerciseResult:
        """Grade with another `seed` or `time_limit` if one is given."""
        data = content.encode() if isinstance(content, str) else content
        chosen = new_grader(changed["seed"]) if "seed" in changed else grader
        limited = with_policy(course, time_limit=changed["time_limit"]) if "time_limit" in changed else course
        return chosen.grade(limited.find(exercise_id), data, worker)

    return graded


def words_of(source: str) -> str:
    """Return the message of the exception that a line raises: those of Python and torch differ between versions."""
    with pytest.raises(Exception) as raised:  # noqa: PT011
        exec(source, {})
    return raised.value.msg if isinstance(raised.value, SyntaxError) else str(raised.value)


def codes(result: ExerciseResult) -> dict[str, str | None]:
    """Return the code of each answer, `None` where it passed."""
    return {answer.name: answer.code for answer in result.answers}


@pytest.fixture(scope="session")
def graded_class(
    tmp_path_factory: pytest.TempPathFactory, shared_pool: Callable[[], AbstractContextManager[None]]
) -> Any:
    """Return a class graded by nbgrader, to be read only: a test that changes it works on a copy."""
    from helpers.nbgrader_students import SOME_WORTH, make_class  # imports nbgrader, which takes seconds

    with shared_pool():
        return make_class(tmp_path_factory.mktemp("class"), SOME_WORTH)
