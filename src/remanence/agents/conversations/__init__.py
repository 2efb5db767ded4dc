"""Conversations: side histories of an agent that share its memory, tools and rules."""
