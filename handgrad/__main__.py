"""The command `handgrad`, also as `python -m handgrad`."""

import sys

from . import OtherGraderError, grader_module


def main() -> None:
    """Run the command `handgrad`; exit with 3 and one sentence if another package hides the grader."""
    try:
        command = grader_module("grader.cli.main").main
    except OtherGraderError as error:
        print(f"handgrad: {error}", file=sys.stderr)
        sys.exit(3)
    command()


if __name__ == "__main__":
    main()
