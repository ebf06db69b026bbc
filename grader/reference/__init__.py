"""Trials and their right answers: torch autograd in float64, confirmed by finite differences."""
