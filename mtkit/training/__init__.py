"""Batches in, weights out: the loss, the optimisation, the loop around them and what one sees of it."""
