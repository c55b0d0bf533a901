"""./cairn migrate: tables go from InnoDB to ROCKSDB and back while clients use them.

Nothing here imports what only a checkout has: the same code is the package's cairn-migrate.
"""
