"""The child process: it runs one learner's code, restricts it, and reports facts. It knows no exercise."""
