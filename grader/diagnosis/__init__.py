"""Finds the mistake in a wrong answer from the learner's own numbers.

- *trial*: one set of drawn inputs; with its right program and the learner's arrays it is a *sample* of a *case*.
- *setting*: the sizes of the axes of a trial, and their kind in words, such as "a batch of one".
- *target*: the input, or named value, that a gradient is for.
- *answer*: what a learner writes: `Answer` declares its name, such as `x.g`, its target, and its kind: a gradient, a
  Jacobian, or a value (what a function without a backward pass returns). In each trial it is an array, the learner's or
  the right one. It is known by its target, or, without one, by its name.
- *program*, *node*, *edge*, *place*, *contribution*, *upstream gradient*, *partner operand*, *einsum letters*: see
  `grader.program`.
- *prior*: the gradient that an input had before the backward pass, which must add to it; the gradient without it is
  *new*. `Trial.right`, `Trial.new` and `Trial.prior` return these arrays.
- *row*: of an answer, the entries with one index along its first axis; of projections, see `grader.program`. The *row
  contributions* of an axis of the output, such as a batch, are what each of its rows alone adds to an answer.
- *spot*: the same place, or places, in the program of every trial, such as `x @ w` in the last iteration. It is
  narrow if it is one operation (*width* `"key"`, see `grader.program`) in all iterations, and wide if its width is
  another or it takes only some iterations; edits at wide spots have a higher rank.
- *entrywise chain*: edges, in the order of the backward pass, each from a pointwise node to the next, along which an
  upstream gradient is only multiplied entry by entry. A *fellow edge* is any further edge of the reader of one of them.
- *operator*: a kind of mistake, as a function from a program, a place and a choice to the edited program; its `at` says
  at which kind of places. It returns `None` where it does not apply in this trial, and the search goes on with the next
  choice. Its docstring says where that is; one that does not mention `None` never returns it.
- *choice*: what there is to choose at a place, such as the axis that is summed over, the key of a table of wrong
  formulas, or the name of a wrong value. A function lists the choices for a place: it yields a record, such as
  `PartOfSum(letter="a", part="only the first")`, for each. An operator without any has the single choice `None`. A
  choice holds in every trial, so that values are in it by name (`ValueName`) and not by id.
- *kind of edges*: of the edges that read a value, those of one operation of the source, in all its iterations, that
  read it the same number of iterations after it is made; an `EdgeKind`, such as `h @ u` in the next iteration.
- *affects*: where an edit that changes a node takes effect: "all", in all values computed from the node and in the
  backward pass; "values", in these values, but not in the node's own vjps; "backward", in its vjps alone; "partners",
  in the vjps that read its value as a partner operand alone.
- *NoCandidate*: the exception of an edited program that cannot be computed in a trial; the search then drops the edit.
- *example*: a forward pass with a wrong backward pass for an operator, which the search must explain by it. In its
  docstring, "Show f(x) whose ...", g is the upstream gradient of f(x), the output.
- *edit*: an operator at a spot with a choice.
- *rewriting*: an edit, or a combination of edits: what makes of each trial's right program the learner's. It *explains*
  an answer if in every trial it gives the learner's array, but for rounding, and in one of them not the right array.
- *idle edge*: an edge whose right contribution is zero, so that a formula derived by hand lacks it.
- *observation*: a fact about the learner's numbers alone, such as that all of them are 0.
- *candidate*: whatever the search tries as an explanation: a rewriting, an observation, a mistake that a spec declares.
- *part*: some entries of an array along an axis, such as the first half of its rows; of a value, what one selection
  takes of it (`x.chunk(3)`) or one operand of the `cat` or `stack` that joins it.
- *message field*: a name in braces in an operator's message, such as `{step}`; `fields` returns what is filled in.
- *rank*: how likely a candidate is: 1 is common, 5 is rare.
- *screen*: a trial in which the search sees cheaply whether a rewriting can give the learner's numbers: by how much it
  *moves* each projection of the gradients (see `grader.program`), which takes one vjp and one product. What passes all
  screens is compared in full: its gradients are computed in every trial. *Work* counts all that in calls of numpy.
- *fact*: a `Fact` is an edit or an observation by its name, with message fields and a clause in words; a `Mistake` is a
  public code, such as `wrong-sign`, with the facts that it consists of. "Return the fact that ..." returns a `Mistake`.
"""
