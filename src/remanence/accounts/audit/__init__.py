"""Who changed what, came in, or was refused: written down in batches, beside the requests and not in their way."""
