"""What a learner reads of a mistake: sentences and hints, made from its record, and the evidence beside them."""
