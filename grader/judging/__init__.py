"""From a learner's code to a verdict on every answer."""
