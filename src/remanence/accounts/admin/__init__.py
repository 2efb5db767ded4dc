"""Organisations and users, as admins look after them."""
