"""Which mistake a wrong answer is, from the learner's own numbers."""
