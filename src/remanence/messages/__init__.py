"""History: stored messages, the windows of context over them, and how both look on the wire."""
