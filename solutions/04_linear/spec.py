"""Exercises of unit 04: a linear layer over a mini-batch."""

from handgrad import Exercise, accumulating, normal, output, stored, wanted

lin_grad = Exercise(
    title="A linear layer, backwards",
    forward=lambda inp, w, b: inp @ w + b,
    inputs={"inp": normal("bs n"), "out": output(), "w": normal("n m"), "b": normal("m")},
    answers=stored("inp.g", "w.g", "b.g"),
    hints={
        "inp.g": (
            "One entry of inp meets every column of w: how many outputs does it touch?",
            "Each output it touches sends back its own share of out.g, weighted by the w it was multiplied with.",
            "Write the shapes of out.g and w side by side: the axis they share is summed away, (bs, n) remains.",
        ),
        "w.g": (
            "One entry of w is used once for every row of the batch. What happens to its contributions?",
            "Row by row, w[i,j] is multiplied by inp[b,i] and lands in out[b,j]; add that up over b.",
            "The batch axis must be the one that is summed away, so that (n, m) remains.",
        ),
        "b.g": (
            "How often is b[j] used in the forward pass?",
            "What fans out forward is summed backward: every row used the same b.",
            "Only the batch axis of out.g disappears; (m,) remains.",
        ),
    },
)

linear_grad = Exercise(
    title="The same layer with torch.nn.Linear's weights",
    forward=lambda inp, weight, bias: inp @ weight.t() + bias,
    inputs={"inp": normal("bs n"), "out": output(), "weight": normal("m n"), "bias": normal("m")},
    answers=stored("inp.g", "weight.g", "bias.g"),
    hints={
        "inp.g": (
            "Write the sum for one entry again; do not patch the line from lin_grad.",
            "inp[i,k] touches every out[i,j]. Which entry of weight stands between them?",
            "The summed index is last in out.g and already first in weight. Does anything have to be turned?",
        ),
        "weight.g": (
            "weight[j,k] feeds column j of out. Where does its own partner come from?",
            "Add over the examples, and look at the order of the two indices that are left.",
            "Shape (m, n): the axis m comes from out.g and must come first, n from inp.",
        ),
        "bias.g": (
            "Does the way weight is stored change what happens to bias?",
            "Each bias[j] was added once in every row of the batch.",
            "From (bs, m) to (m,): which axis counts the examples?",
        ),
    },
)

lin_grad_nd = Exercise(
    title="A linear layer with one more axis",
    forward=lambda inp, w, b: inp @ w + b,
    inputs={"inp": normal("bs t n"), "out": output(), "w": normal("n m"), "b": normal("m")},
    answers=stored("inp.g", "w.g", "b.g"),
    hints={
        "inp.g": (
            "Each of the bs times t rows goes through the layer on its own.",
            "Nothing is summed over bs or t here: every row of inp has its own gradient.",
            "Matrix products act on the last two axes and leave the leading ones alone; (bs, t, n) remains.",
        ),
        "w.g": (
            "How often is one entry of w used now? Count the rows.",
            "Two axes number the rows, and both must be summed away.",
            "Make one long batch of all the rows first; then it is the product you know from lin_grad.",
        ),
        "b.g": (
            "How often is b[j] used now? Count the rows.",
            "If an axis t is left over, only one of the two leading axes has been summed.",
            "sum accepts several axes at once; only the last one of out.g may remain.",
        ),
    },
)

lin_grad_accumulate = Exercise(
    title="Add to the gradient that is already there",
    forward=lambda inp, w, b: inp @ w + b,
    inputs={
        "inp": accumulating(normal("bs n")),
        "out": output(),
        "w": accumulating(normal("n m")),
        "b": accumulating(normal("m")),
    },
    answers=stored("inp.g", "w.g", "b.g"),
    hints={
        "inp.g": (
            "Did inp have a .g before you were called? What has become of it?",
            "The gradient itself is that of lin_grad; only the storing is new. Two cases: a .g, or none.",
            "hasattr, or getattr with a default, tells you which case you are in.",
        ),
        "w.g": (
            "A layer used in two places gets two contributions to its w.g. Do both survive?",
            "The gradient itself is that of lin_grad; only the storing is new. Two cases: a .g, or none.",
            "Start from what is stored on w, or from nothing if there is none, and add this batch's sum.",
        ),
        "b.g": (
            "Did b have a .g before you were called? What has become of it?",
            "The gradient itself is that of lin_grad; only the storing is new. Two cases: a .g, or none.",
            "Start from what is stored on b, or from nothing if there is none, and add this batch's sum.",
        ),
    },
)

lin_grad_needed = Exercise(
    title="Only the gradients that are needed",
    forward=lambda inp, w, b: inp @ w + b,
    inputs={
        "inp": normal("bs n"),
        "out": output(),
        "w": normal("n m"),
        "b": normal("m"),
        "needs": wanted("inp w b"),
    },
    answers=stored("inp.g", "w.g", "b.g"),
    hints={
        "inp.g": (
            "Is inp in needs? If it is not, nothing may be stored on it.",
            "The gradient is that of lin_grad. Ask first, and compute inside the question.",
            "Three separate questions, one for each name: each product belongs under its own if.",
        ),
        "w.g": (
            "Is w in needs? If it is not, nothing may be stored on it.",
            "The gradient is that of lin_grad. Ask first, and compute inside the question.",
            "Ask about each name on its own: with an elif, a second wanted gradient is never reached.",
        ),
        "b.g": (
            "Is b in needs? If it is not, nothing may be stored on it.",
            "The gradient is that of lin_grad. Ask first, and compute inside the question.",
            "Ask about each name on its own: with an elif, a second wanted gradient is never reached.",
        ),
    },
)

lin_grad_lean = Exercise(
    title="A linear layer, backwards, in little memory",
    forward=lambda inp, w, b: inp @ w + b,
    inputs={"inp": normal("bs n"), "out": output(), "w": normal("n m"), "b": normal("m")},
    answers=stored("inp.g", "w.g", "b.g"),
    never_holds="bs n m",
    hints={
        "inp.g": (
            "Which arrays do you create on the way, and how large is the largest of them?",
            "Broadcasting out.g against w makes one entry for every example, input and output. Is that needed?",
            "One operation multiplies and adds up as it goes, and its result is no larger than (bs, n).",
        ),
        "w.g": (
            "Which arrays do you create on the way, and how large is the largest of them?",
            "A stack of bs tables, added up afterwards, is bs times as large as the answer.",
            "One operation multiplies and adds up over the examples as it goes; its result is (n, m).",
        ),
        "b.g": (
            "Which gradient of the three never needed a large array?",
            "It is the same as in lin_grad: every row used the same b.",
            "Reduce out.g itself over the axis that counts the examples.",
        ),
    },
)

bmm_grad = Exercise(
    title="A batch of matrix products, backwards",
    forward=lambda a, b: a @ b,
    inputs={"a": normal("bs n k"), "b": normal("bs k m"), "out": output()},
    answers=stored("a.g", "b.g"),
    hints={
        "a.g": (
            "Look at one example by itself: it is the layer you know, with b in the place of w.",
            "Which index do out.g and b share, apart from the batch? That one is summed.",
            "Turn the last two axes of one factor, and only those: t() is for matrices, so name the axes.",
        ),
        "b.g": (
            "Every example has its own b. Is anything summed over the batch?",
            "Within one example, b[k,j] is used once for each of the n rows of a.",
            "The axis n disappears, bs stays in front; turn the last two axes of a, and only those.",
        ),
    },
)
