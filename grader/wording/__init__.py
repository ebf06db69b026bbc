"""The sentences and hints that a learner reads of a mistake, made from its record."""
