"""Tools: their records, the built-in ones, and the executor that runs a call."""
