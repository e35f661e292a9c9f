"""The paper as an experiment: Hsu, Khanna, Roth, "Distributed Private Heavy Hitters", measured.

Every claim that can be measured has a figure. A figure is a study of many cells; a cell is one point and runs
independently of the others.

- `study` defines cells, studies and their numbers, and which mechanisms are compared.
- `separation`, `largest_error`, `smallest_crowd`, `bucket_success` and `proved_search` are the studies.
- `theorems` and `lower_bound` have the numbers to compare with, in addition to the bounds that mechanisms state.
- `run` runs the cells; `figures`, `sections` and `report` show the results.
"""
