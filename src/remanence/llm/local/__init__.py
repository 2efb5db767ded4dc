"""The embedded model: a small language model that runs beside the server, with no key and no network.

It is there to try things and to test. What it promises: the server never waits for it, a crash of
its engine is an error of one message, and a turn always ends.
"""
