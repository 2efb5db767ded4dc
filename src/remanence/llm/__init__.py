"""Models: one adapter per wire format, the vendors as data, and the catalogue of what is reachable."""
