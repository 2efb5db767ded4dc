"""Money: what models have cost, and budgets that stop a run before it costs more than it may."""
