"""The steps of an answer as modules of DSPy. Everything that imports `dspy` is in here: it is an extra."""
