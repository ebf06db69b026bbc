"""`python -m grader` is `handgrad`."""

from .cli import main

main()
