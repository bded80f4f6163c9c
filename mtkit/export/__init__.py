"""A trained model to what another runtime loads. Comes in: a run folder. Goes out: a folder that needs no mtkit."""
