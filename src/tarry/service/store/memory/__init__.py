"""The reference store for tests and simulations: dicts and lists in one process, not durable."""

from tarry.service.store.memory.store import MemoryStore

__all__ = ["MemoryStore"]
