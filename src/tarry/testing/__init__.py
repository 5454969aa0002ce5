"""For tests of code that retries: a clock you push, and draws you write yourself.

With pytest the fixtures `tarry_clock`, `tarry_draws` and `tarry_events` are there by themselves.
"""

from tarry.testing.clock import PushedClock, pushed_clock
from tarry.testing.draws import Script, scripted_draws, seeded_draws

__all__ = ["PushedClock", "Script", "pushed_clock", "scripted_draws", "seeded_draws"]
