"""`python -m sordino_shuffler` is the command `sordino-shuffler`."""

import sys

from sordino_shuffler.cli import main

if __name__ == "__main__":
    sys.exit(main())
