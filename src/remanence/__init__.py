"""Remanence: a light, durable server for stateful AI agents."""

__version__ = "0.1.0"
