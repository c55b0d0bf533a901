"""The options of the commands; what they do is imported when they run, so that --help is quick."""
