"""How hard Hypothesis looks: `ci` by default, `./dev test --hypothesis-profile=deep` to dig."""

from hypothesis import settings

settings.register_profile("ci", deadline=None, derandomize=False, print_blob=True)
settings.register_profile("deep", settings.get_profile("ci"), max_examples=5_000)
settings.load_profile("ci")
