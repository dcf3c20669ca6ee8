"""How each serving system is recorded: two TOML files, their strict loader, and the commands composed from them."""
