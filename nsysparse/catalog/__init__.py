"""What is known about links and models: two TOML files, each entry with its source, and their strict loader."""
