"""Several agents together: who speaks to whom (`messaging`), who helps whom and when (`service`).

What an agent's turn brings about for others is decided here and carried out as ordinary background runs.
"""
