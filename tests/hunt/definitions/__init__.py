"""Part of ./cairn hunt: statements that change definitions, beside open readers and writers."""
