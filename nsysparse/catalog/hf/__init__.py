"""What a Hugging Face `config.json` says about a model's cache, field by field; nothing is guessed."""
