"""mtkit: a machine translation toolkit. The layout is drawn in README.md; who may import whom is in setup.cfg."""

__version__ = "0.1.0"
