"""The paper as an experiment: Hsu, Khanna, Roth, "Distributed Private Heavy Hitters", measured.

Every claim that can be measured is a figure, and a figure is a study of many cells, each a point that runs by itself.

- `study` says what a cell, a study and its numbers are, and which mechanisms are compared.
- `separation`, `largest_error`, `smallest_crowd` and `bucket_success` are the studies.
- `theorems` and `lower_bound` are what their numbers are compared with, beside the bounds that mechanisms state.
- `run` runs the cells; `figures`, `sections` and `report` show what they measured.
"""
