"""Anybody's backward pass: which of its gradients are wrong, and which mistake each one is."""
