"""Sending messages: admission, the loop, its checkpoints, and the record of runs and steps."""
