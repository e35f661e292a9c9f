"""Text codes: public tables that give plausible strings few bits.

Read on in this order: `table` (what a table may hold), `text_code` (strings to bits and back, one at a time),
`shipped` (the tables in tables/), `automaton` (a code walked bit by bit), `bulk` with `kernels` (many strings at once),
`bits` (how good a code is on some strings), `fitting` with `classes` (a new table from sample strings).

Only `kernels` and what imports it needs numba. A domain needs `table`, `text_code` and `shipped`.
"""
