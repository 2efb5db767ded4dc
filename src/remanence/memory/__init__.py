"""Memory blocks: the text an agent always has in view, alone or shared with others.

A block never holds more than its limit, and an agent never holds two blocks of one label. Whatever
changes a block or its holders raises the `state_version` of each agent that must see it, in the same
transaction. Also here: the tags of blocks and agents.
"""
