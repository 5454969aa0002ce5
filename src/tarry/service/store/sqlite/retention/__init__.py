"""Maintenance: remove data past its retention, copy the file, check it.

Tasks that delete or discard on a person's request are in `queue`.
"""
