"""What runs in the child process: one learner's code, what it may do, and what it did. It knows no exercise."""
