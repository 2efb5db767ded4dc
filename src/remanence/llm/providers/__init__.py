"""Providers that organisations bring themselves, with keys of their own.

Keys are encrypted when they come in and shown to nobody. What an organisation brings, no other sees.
"""
