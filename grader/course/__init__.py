"""A course as its author declares it: `course.yaml`, exercises, quizzes, samplers and named axes."""
