"""Seals stored payloads and responses with a data key for each application.

`data_keys` has the data keys in memory; `sealed_store` wraps a store, and seals and opens what it
keeps. All other code sees plain payloads and responses.
"""
