"""A quiz that a learner takes or practises: the questions with their numbers, and the judging of an answer."""

from __future__ import annotations

import string
from dataclasses import dataclass, field
from pathlib import Path

from grader.authoring.build import stub
from grader.course.course import CourseExercise
from grader.course.questions import NOT_READ, AnswerableQuestion, Choice, Choices, QuizMistake
from grader.errors import ExpressionError, InfrastructureError, ReadError, UsageError
from grader.files import remedy, write_atomically
from grader.quiz.answer_mistakes import mistake_in, unread
from grader.quiz.answer_sheet import Sheet, decode_sheet, read_sheet, with_answer
from grader.quiz.choice_reading import named_choices
from grader.quiz.variants import options, question_with_key
from grader.results.records import ExerciseResult

LETTERS = "".join(letter for letter in string.ascii_lowercase if letter not in "hqs")


def _mistake_in(question: AnswerableQuestion, answer: str) -> QuizMistake | None:
    """Return the mistake in an answer; `None` if it is right.

    An answer that cannot be judged, through a mistake in handgrad, has a mistake with the code `not-read`, which says
    why and does not count, so that the answer can be tried again.
    """
    try:
        return mistake_in(question, answer)
    except InfrastructureError as error:
        return QuizMistake(code=NOT_READ, says=f"{error}.")


@dataclass
class Practice:
    """Ask and judge the questions of a quiz, without writing anything down.

    Args:
        exercise: the quiz.
        variant: which numbers the questions have.
        hints: how many hints were shown, by the id of the question.
    """

    exercise: CourseExercise
    variant: int
    hints: dict[str, int] = field(default_factory=dict)

    def question(self, name: str) -> AnswerableQuestion:
        """Return the question of this name with the numbers of the learner's variant, and with its right answer."""
        return question_with_key(self.exercise.quiz, name, self.variant)

    def answer(self, name: str, typed: str) -> QuizMistake | None:
        """Judge an answer; return the mistake in it, `None` if it is right.

        Args:
            name: the id of the question.
            typed: the answer as it was typed.

        Raises:
            UsageError: only in a subclass that writes answers down: the file is no longer an answer sheet.
            InfrastructureError: only in such a subclass: the file cannot be written.
        """
        try:
            return _mistake_in(self.question(name), self.with_choice_names(name, typed))
        except ExpressionError as error:
            return unread(error)

    def with_choice_names(self, name: str, typed: str) -> str:
        """Return a typed answer with the letters of its question's choices replaced by their names.

        "a, c", "a and c" and "ac" become "adds, moves", each name once and in the order of the answer. If the question
        has no choices, the answer is only stripped.

        Args:
            name: the name of the question.
            typed: the answer as it was typed.

        Raises:
            ExpressionError: the question has choices, and the answer names none, or something that is none.
        """
        question = self.question(name)
        if not isinstance(question, (Choice, Choices)):
            return typed.strip()
        by_letter = self.choices_by_letter(name, question)
        letters = typed.strip().lower()
        if letters not in by_letter.values() and set(letters) <= by_letter.keys():
            typed = " ".join(letters)
        return ", ".join(named_choices(question, typed, by_letter))

    def choices_by_letter(self, name: str, question: Choice | Choices) -> dict[str, str]:
        """Return the name of each choice of a question by the letter that the learner sees, such as "a": "adds"."""
        return dict(zip(LETTERS, options(name, question, self.variant), strict=False))

    def earlier_answer(self, name: str) -> str:
        """Return the earlier answer to the question of this name; always empty here, where none is written down."""
        return ""

    def earlier_mistake(self, name: str) -> QuizMistake | None:
        """Return the mistake in the earlier answer to the question of this name; `None` if there is none."""
        answer = self.earlier_answer(name)
        return _mistake_in(self.question(name), answer) if answer else None

    def as_shown(self, name: str, answer: str) -> str:
        """Return an answer to the question of this name as the learner types it: choices as letters, such as "a c".

        If the question has no choices, or the answer names none, the answer is unchanged.
        """
        question = self.question(name)
        if not isinstance(question, (Choice, Choices)):
            return answer
        letters = {label: letter for letter, label in self.choices_by_letter(name, question).items()}
        try:
            return " ".join(letters[label] for label in named_choices(question, answer))
        except ExpressionError:
            return answer

    def next_hint(self, name: str) -> tuple[int, int, str] | None:
        """Return the number of the next hint on the question of this name, how many there are, and the hint.

        It is counted as shown, so that the next call returns the one after it; `None` once all have been shown.
        """
        hints = self.question(name).hints
        seen = self.hints.get(name, 0)
        if seen == len(hints):
            return None
        self.hints[name] = seen + 1
        return seen + 1, len(hints), hints[seen]


@dataclass
class QuizSession(Practice):
    """Take a quiz: every answer is written to the sheet at once.

    The sheet is read again for every answer, so that it may be open in an editor at the same time.

    Args:
        variant: which numbers a new sheet gets; an existing one decides for itself.
    """

    @property
    def names(self) -> list[str]:
        """Return the names of the questions, in order."""
        return list(self.exercise.quiz.questions)

    def text(self) -> str:
        """Return the text of the sheet, which is written first if there is none.

        Raises:
            UsageError: the file cannot be decoded as an answer sheet.
            InfrastructureError: a new sheet cannot be written.
        """
        path = self.exercise.path
        try:
            if not path.exists():
                self._write(stub(self.exercise, self.variant))
            return decode_sheet(path.read_bytes())
        except ReadError as error:
            raise self._unreadable_sheet(error) from error

    def sheet(self) -> Sheet:
        """Return the current sheet.

        Raises:
            UsageError: the file is no answer sheet.
        """
        try:
            return read_sheet(self.text(), self.exercise.quiz)
        except ReadError as error:
            raise self._unreadable_sheet(error) from error

    def question(self, name: str) -> AnswerableQuestion:
        """Return the question of this name with the numbers of the sheet's variant, and with its right answer.

        `self.variant` becomes that of the sheet.

        Raises:
            UsageError: the file is no answer sheet.
        """
        self.variant = self.sheet().variant
        return super().question(name)

    def earlier_answer(self, name: str) -> str:
        """Return the answer to the question of this name in the sheet; empty if there is none."""
        return self.sheet().answers.get(name, "")

    def open(self) -> list[str]:
        """Return the names of the questions that are not answered, or not yet right, in order."""
        sheet, quiz = self.sheet(), self.exercise.quiz
        return [
            name
            for name in quiz.questions
            if name not in sheet.answers
            or _mistake_in(question_with_key(quiz, name, sheet.variant), sheet.answers[name])
        ]

    def answer(self, name: str, typed: str) -> QuizMistake | None:
        """Judge an answer, and write it to the sheet if it can be read.

        Return the mistake in it, `None` if it is right.

        Args:
            name: the id of the question.
            typed: the answer as it was typed.

        Raises:
            UsageError: the file is no answer sheet any more.
            InfrastructureError: the file cannot be written.
        """
        text = self.text()
        mistake = super().answer(name, typed)
        if mistake is None or mistake.code != NOT_READ:
            try:
                self._write(with_answer(text, self.exercise.quiz, name, self.with_choice_names(name, typed)))
            except ReadError as error:
                raise self._unreadable_sheet(error) from error
        return mistake

    def result(self) -> ExerciseResult:
        """Return the verdict on every question of the sheet, which is read from its file."""
        content = self.exercise.path.read_bytes()
        from grader.judging.quiz_sheets import grade_quiz

        return grade_quiz(self.exercise, content).with_hash_of(content)

    def _write(self, text: str) -> None:
        """Replace the text of the answer sheet.

        Raises:
            InfrastructureError: the file cannot be written; it is unchanged.
        """
        path: Path = self.exercise.path
        try:
            write_atomically(path, text.encode())
        except OSError as error:
            says = f"{path} cannot be written ({error.strerror}): {remedy(error)}. Nothing has changed."
            raise InfrastructureError(says) from error

    def _unreadable_sheet(self, error: ReadError) -> UsageError:
        """Return the error for an answer sheet that cannot be read: its line, the problem, and the next step."""
        return UsageError(
            f"{self.exercise.file}, line {error.line}: {error.problem}. Correct it, or begin a new sheet (this one is "
            f"kept) with: handgrad reset {self.exercise.id}"
        )
