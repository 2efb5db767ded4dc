"""On whose behalf agents act, and what an application knows of them. Agents and blocks belong to identities."""
