"""Event types, and the JSON Schemas that payloads have to match.

`event_types.py` has the operations, `schemas.py` checks schemas and validates payloads, and
`schema_weight.py` limits the cost of a validation. Not here: messages (`messages/`).
"""
