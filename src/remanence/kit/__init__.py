"""Small tools every room may use: ids, clock, JSON, logging. The kit knows nothing of agents."""
