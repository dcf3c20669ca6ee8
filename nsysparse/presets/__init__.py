"""What range names mean in each serving system: one TOML a system, matched in the order of `BUILTIN`."""
