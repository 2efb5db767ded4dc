"""Reads a database of the retired server and brings what it finds here, under the ids that it has."""
