"""How the synthetic sample traces are made: each recipe plans a run, writes it, and states what is true of it."""
