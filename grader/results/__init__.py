"""Results: the record of an exercise and of a course, its codes, and sums of points."""
