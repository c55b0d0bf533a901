"""./cairn doctor: questions that people ask of a server, asked before they do.

`gather.py` gathers the facts once, with `asking.py` from the server and with `machine.py` from its
process and files; `facts.py` is what they gather. `versions.py`, `limits.py`, `durability.py`,
`options.py`, `writes.py`, `damage.py`, `left_behind.py` and `backups.py` have the findings of one
subject each: pure functions from facts to findings. `catalogue.py` is the list of all findings,
`show.py` prints them, `command.py` puts it together.

Nothing here may import modules that need a checkout: the package ships it as it is.
"""
