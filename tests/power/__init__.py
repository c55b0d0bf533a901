"""The part `power` of ./cairn hunt: power cuts, after which what was never synced is lost."""
