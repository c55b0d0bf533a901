"""The sample database: time zones, the Unicode character database and a word list.

All of it comes from packages of the distribution, so that everyone has it and no file of ours does.
"""
