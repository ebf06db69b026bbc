"""What a course author needs: the audit, derived files, new courses and exercises, quizzes for other systems."""
