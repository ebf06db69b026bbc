"""Finds the mistake in a wrong answer from the learner's own numbers.

- *trial*: one set of drawn inputs; with its right program and the learner's arrays it is a *sample* of a *case*.
- *target*: the input, or named value, that a gradient is for; the learner's array for it is an *answer*.
- *program*, *node*, *edge*, *place*, *contribution*: see `grader.program`.
- *spot*: the same place, or places, in the program of every trial, such as `x @ w` in the last iteration.
- *operator*: a kind of mistake, as a function from a program and a place to the edited program.
- *edit*: an operator at a spot with a choice, such as which axis is summed over.
- *rewriting*: an edit, or a combination of edits: what makes of each trial's right program the learner's.
- *observation*: a fact about the learner's numbers alone, such as that all of them are 0.
- *candidate*: whatever the search tries as an explanation: a rewriting, an observation, a mistake that a spec declares.
- *rank*: how likely a candidate is: 1 is common, 5 is rare.
- *screen*: a trial in which the search sees cheaply whether a rewriting can give the learner's numbers.
"""
