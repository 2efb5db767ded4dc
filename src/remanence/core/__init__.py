"""The vocabulary and the rules, with no input or output: types, prompts, decisions."""
