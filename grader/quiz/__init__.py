"""Quizzes: questions, answer sheets, and formulas that are read and never evaluated."""
