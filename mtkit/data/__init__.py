"""Parallel text to numbered pairs to batches: the stages are the files, in the order drawn in README.md."""
