"""The part `foreign-keys` of ./cairn hunt: tables with foreign keys, as with InnoDB."""
