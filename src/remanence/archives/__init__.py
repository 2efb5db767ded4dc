"""Archival memory: archives of passages, shared between agents and kept when an agent is gone.

A passage is found by its words from the moment it is stored, and by its meaning as soon as its vectors are
there: usually the same moment, later if the embedding model does not answer.
"""
