"""`python -m mtkit` is `mtkit`; torchrun starts it in this form."""

import sys

from mtkit.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
