"""The part `partitions` of ./cairn hunt: partition maintenance under load, with kills."""
