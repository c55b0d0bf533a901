"""./cairn acceptance schema-tools: what others have written to change tables online."""
