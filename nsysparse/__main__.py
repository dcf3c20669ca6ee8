"""`python -m nsysparse` is the command line."""

from nsysparse.cli import main

main()
