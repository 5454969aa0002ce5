"""`tarry bench`: the benchmark job, the sink that receives it, and the floor to compare with."""
