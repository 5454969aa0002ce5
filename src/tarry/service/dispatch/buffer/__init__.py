"""The deliveries of a lane that are in memory: how far the store was read, and which goes next."""
