"""handgrad: exercises on writing gradients by hand, and the grader that names each mistake."""

__version__ = "0.1.0"
