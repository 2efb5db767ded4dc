"""What is said to agents at its time: once, or by a cron expression. Each occurrence runs exactly once."""
