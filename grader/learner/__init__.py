"""The learner's side: pytest, the terminal, watch mode, progress, review and training."""
