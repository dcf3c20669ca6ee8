"""Reading an export: the only room that knows SQL and the column names of Nsight Systems.

`open` guards the file, `schema` names its tables, `extract` reads frames, `capabilities` says what was recorded.
"""
