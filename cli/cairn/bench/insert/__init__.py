"""The insert benchmark: rows in the order of the key with three indexes, then queries meanwhile."""
