"""The one exception that the command line shows to people."""


class CairnError(Exception):
    """Something that the user has to know; the text says what happened and what to do."""
