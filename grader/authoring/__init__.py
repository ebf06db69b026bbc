"""Tools of a course author: the audit, derived files, new courses and exercises, quizzes for other systems."""
