"""Which shards this process owns, and the lanes that it has loaded for them.

`owner.py` has the steps of the loops: renew, take, hand over. `shards.py` has the shards with their
lanes, `held_lease.py` the lease that lanes look at before they send. `lane_loader.py` reads lanes
that were woken or changed, and rows for lanes that run low. What a loaded lane does is in `lane/`.
"""
