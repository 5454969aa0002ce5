"""The reference store: dicts and lists in one process, gone with it. For tests and simulations."""

from tarry.service.store.memory.store import MemoryStore

__all__ = ["MemoryStore"]
