"""Keys for one project or one agent: what a request names must lie within it."""
