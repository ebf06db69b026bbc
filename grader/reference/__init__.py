"""Trials and their right answers: torch autograd in float64, confirmed by finite differences.

- *exercise*: declares a forward pass, whose gradients the learner's function stores or returns. A *step* is a named
  value inside the forward pass whose gradient is asked for, too.
- *routine*: declares a function without a backward pass, by a *reference* that returns the right values.
- *declaration*: an exercise or a routine.
- *answer*: a gradient, a Jacobian or a value that the learner's function gives; `wrt` names what is differentiated.
- *trial*: one call of the learner's function: its arguments, drawn at random, and the right array of each answer.
- *setting*: the axis sizes of a trial, and its kind in words, such as "a batch of one".
- *prior gradient*: the `.g` that an argument has before the call, to which the answer must be added.
- *kink*: a point such as 0 for relu, or a tie of entries under a maximum, at which several gradients are right: each by
  a *convention*, of which torch has one.
"""
