"""`python -m memlayer_pg`: the same as the command `memlayer`."""

from memlayer_pg.cli import main

if __name__ == "__main__":
    main()
