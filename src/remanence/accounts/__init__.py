"""Who is asking: organisations, users, and the door that names the actor of a request."""
