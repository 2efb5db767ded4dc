"""Agents in the guise of models: the chat completions of OpenAI's clients.

Such clients send the whole conversation each time. An agent has its own memory of it, so only what was said
since its last answer is sent on; settings of the model and system messages are the agent's own.
"""
