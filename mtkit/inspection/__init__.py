"""Looking into models and runs: what they consist of, need and do. Changes nothing."""
