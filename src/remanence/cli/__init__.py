"""The commands. They build the app or talk to a running server, and hold no rules of their own."""
