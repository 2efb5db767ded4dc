"""Templates: agents saved under a name, in versions, from which others are made and brought up to date.

A version is an agent file without anything that was said, so there is one description of an agent and not two.
"""
