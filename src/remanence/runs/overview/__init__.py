"""What a list of runs shows beside the runs themselves."""
