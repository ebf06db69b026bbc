"""A learner's source: its text, and what can be told of it by reading alone."""
