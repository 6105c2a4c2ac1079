"""`python -m minercdc`."""

from minercdc.cli import main

if __name__ == "__main__":
    main()
