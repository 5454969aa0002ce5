"""Maintenance: remove data past its retention, by rows or whole partitions; check the database.

Tasks that delete or discard on a person's request are in `queue`.
"""
