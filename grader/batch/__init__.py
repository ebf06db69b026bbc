"""A whole class, graded into a folder of results."""
