"""Keys: made once and shown once, known again by their digests, and gone within seconds of being revoked."""
