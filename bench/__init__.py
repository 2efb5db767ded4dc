"""How fast the server is and how much it takes, beside the targets of the design.

    make bench                      # both databases, a few minutes
    make bench ARGS="--only message streams --database sqlite --json figures.json"

The server runs as people run it, in a process of its own; the model behind it (`model.py`) answers at
once, so that what is measured is the server's own cost. `bench.chaos` kills servers instead.
"""
