"""A class graded twice: the same bytes from the same seed, the same scores and codes from another."""

from __future__ import annotations

import shutil

from test_class_grading import SEED, codes, course, files_in, grade_folder, graded, pair, record, school

from grader.batch import submissions
from grader.results import LARGEST_SEED


def test_the_same_seed_gives_the_same_bytes(course, pair, tmp_path) -> None:
    for name, workers in (("one", 1), ("two", 2)):
        grade_folder(course, pair, tmp_path / name, workers=workers, seed=SEED)
    assert files_in(tmp_path / "one") == files_in(tmp_path / "two")


def test_another_seed_gives_the_same_scores_and_codes(course, graded, tmp_path, school) -> None:
    submissions = tmp_path / "submissions"
    for student in ("mean", "partly", "all right"):
        shutil.copytree(school / student, submissions / student)
    grade_folder(course, submissions, tmp_path / "out", workers=2)
    for student in ("mean", "partly", "all right"):
        assert codes(tmp_path / "out", student) == codes(graded[0], student)
        assert record(tmp_path / "out", student)["score"] == record(graded[0], student)["score"]


def test_a_seed_that_is_drawn_reproduces_the_results_to_the_byte(course, pair, tmp_path) -> None:
    grade_folder(course, pair, tmp_path / "drawn", workers=2)
    seed = record(tmp_path / "drawn", "ada")["seed"]
    assert 0 <= seed <= LARGEST_SEED
    grade_folder(course, pair, tmp_path / "disputed", workers=1, seed=seed)
    assert files_in(tmp_path / "disputed") == files_in(tmp_path / "drawn")
