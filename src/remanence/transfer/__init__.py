"""Moving in and out: agents as files, whole databases as backups, and what the retired server left behind."""
