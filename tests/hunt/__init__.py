"""./cairn hunt: looks for wrong answers of the engine, part by part."""
