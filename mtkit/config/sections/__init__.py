"""The options by section, one file each; `schema` puts them together."""
