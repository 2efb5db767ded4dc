"""Several agents together: who helps whom, and when.

What an agent's turn brings about for others is decided here and carried out as ordinary background runs.
"""
