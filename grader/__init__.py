"""handgrad: the grader, behind what `import handgrad` gives."""

__version__ = "0.1.0"
