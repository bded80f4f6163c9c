"""From translations to scores: lines in, numbers with their signatures out. Knows nothing of models."""
