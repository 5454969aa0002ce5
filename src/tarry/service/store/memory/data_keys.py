"""Data keys in the memory store."""

from collections.abc import Callable

from msgspec.structs import replace

from tarry.errors import Conflict, NotFound
from tarry.service.model.audit import Action, application_target
from tarry.service.model.data_key import DataKey
from tarry.service.model.task import erasing
from tarry.service.store.by_kind import RecordsByKind
from tarry.service.store.kinds import DataKeys
from tarry.service.store.memory.data import Data


class MemoryDataKeys(RecordsByKind):
    """Data keys, each of one application."""

    _data: Data

    async def erase(self, application: str, *, now: float, by: Action | None = None) -> bool:
        """Delete an application's data key; return whether it had one."""
        environment = self._data.application(application).environment
        data_key = self._data.erase_data_key(application)
        self._data.write_entry(by, application_target(application))
        if data_key is None:
            return False
        for lane in self._data.lanes_of[application]:
            if not lane.deleted:
                task = erasing(lane.endpoint, environment, data_key.id, now)
                self._data.tasks[task.id] = task
                lane.version += 1
                self._data.wake(lane)
        return True

    async def _create_data_key(self, data_key: DataKey) -> None:
        """Save an application's first data key."""
        self._data.application(data_key.application)
        if await self._data_keys(DataKeys((data_key.application,))):
            raise Conflict("data key", data_key.application)
        self._data.data_keys[data_key.id] = data_key

    async def _change_data_key(
        self, known_as: str, change: Callable[[DataKey], DataKey]
    ) -> DataKey:
        """Apply `change` to a stored data key; only its sealed form is saved."""
        stored = self._data.data_keys.get(known_as)
        if stored is None:
            raise NotFound("data key", known_as)
        changed = replace(stored, sealed=change(stored).sealed)
        self._data.data_keys[known_as] = changed
        return changed

    async def _data_keys(self, query: DataKeys) -> list[DataKey]:
        """Return the data keys with these names, or all of them."""
        data_keys = self._data.data_keys
        if query.names is not None:
            return [
                data_key
                for data_key in data_keys.values()
                if data_key.id in query.names or data_key.application in query.names
            ]
        ids = sorted(key_id for key_id in data_keys if key_id > query.after)
        return [data_keys[key_id] for key_id in ids[: query.limit]]
