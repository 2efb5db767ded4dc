"""Running code that is not ours: behind a fence, within limits, a process for each call."""
