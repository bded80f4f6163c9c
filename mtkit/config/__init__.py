"""Configuration: `schema` says which options exist and what they mean, `loader` reads YAML and `--set` into them."""
