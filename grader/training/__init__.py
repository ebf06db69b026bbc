"""A unit's gradients train a model: the learner's own beside torch's."""
