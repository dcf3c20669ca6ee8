"""A copy of an export with only what the analysis needs, for handing on to somebody else.

Nothing is copied because it is there: `columns` lists what may be, from the tables that `source.schema` names; `events`
and `tables` say which rows and what stands for their texts, `names` and `hashed` what those texts become, `payloads`
what is left of payloads; `file` writes the copy, `copy` takes one export through all of it.
"""
