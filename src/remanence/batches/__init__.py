"""Many messages to many agents at once, worked off as ordinary background runs, a few at a time."""
