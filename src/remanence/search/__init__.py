"""One search port and two engines.

The index holds what is needed to find a document, not the document: its text stays where it is kept, and
is read from there for the few that are shown. So nothing is shown that is gone, in whatever way it went.
"""
