"""Folders of files: kept, read, cut into passages and found.

A file is stored with its bytes before it is acknowledged; what is in it is read later, outside the server's
process, because files are hostile. Its text is found by its words as soon as it is cut, and by its meaning as
soon as its vectors are there.
"""
