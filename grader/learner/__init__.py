"""What a learner meets: pytest, the terminal, watching, progress."""
