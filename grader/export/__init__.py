"""Exporters: pure functions from a course and the records of students to the files that another platform reads."""
