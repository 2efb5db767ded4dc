"""The rows of groups, here because an agent shows the one it manages; what groups do is above (`groups/`)."""
