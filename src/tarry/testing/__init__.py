"""For tests of code that retries: a clock that you control, and random draws that you choose.

With pytest, the fixtures `tarry_clock`, `tarry_draws` and `tarry_events` are available without an
import.
"""

from tarry.testing.clock import PushedClock, pushed_clock
from tarry.testing.draws import Script, scripted_draws, seeded_draws

__all__ = ["PushedClock", "Script", "pushed_clock", "scripted_draws", "seeded_draws"]
