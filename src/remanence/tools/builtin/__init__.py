"""The tools every server has: what models are told about them, and those that only edit memory.

They do no input or output: a memory tool returns edits, and the checkpoint writes them with the step.
"""
