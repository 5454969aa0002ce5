import json
from collections.abc import Mapping
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.backoff import Exponential
from tarry.core.breaker import BreakerRule
from tarry.core.budget import QuotaRule, RatioRule
from tarry.core.jitter import Full
from tarry.core.policy import Policy
from tarry.core.probe_rule import ProbeRule
from tarry.errors import PolicyError, ScenarioError
from tarry.sim.backlog.model import Backlog
from tarry.sim.contention import Contention
from tarry.sim.run import Contestant
from tarry.sim.scenario.format import MODELS
from tarry.sim.scenario.reader import from_toml, load
from tarry.sim.scenario.storm import Storm
from tarry.sim.server.model import Server
from tarry.sim.shipped import names, shipped
from tarry.sim.timeline import Timeline

ROW = "model = 'contention'\nclients = 7\n"
CROWD = "model = 'timeline'\nclients = 7\nretries = 2\n"
SERVICE = "model = 'server'\nload = 0.5\n"
STEPS = "model = 'backlog'\nwaiting = 7\ncapacity = "
LANE = "model = 'backlog'\nwaiting = 7\ncapacity = 2\n"


def read(text: str) -> Storm:
    return from_toml(text, "mine")


def toml(document: Mapping[str, object]) -> str:
    """Write keys and values; what JSON writes is TOML too, but for odd floats."""
    written = {
        key: repr(value) if isinstance(value, float) else json.dumps(value)
        for key, value in document.items()
    }
    return "".join(f"{key} = {value}\n" for key, value in written.items())


def refused(text: str) -> ScenarioError:
    with pytest.raises(ScenarioError) as caught:
        read(text)
    return caught.value


@pytest.mark.parametrize(
    ("text", "scenario"),
    [
        (ROW, Contention(clients=7)),
        (ROW + "latency_mean = 1\nlatency_sd = 0.5", Contention(
            clients=7, latency_mean=1, latency_sd=0.5)),
        (CROWD, Timeline(clients=7, retries=2)),
        (SERVICE + "queue = 5\nslowdown = 3", Server(load=0.5, queue=5, slowdown=3)),
        (SERVICE + "queue = 'unlimited'", Server(load=0.5)),
        (LANE + "endpoint = 'brittle'", Backlog(waiting=7, capacity=2, endpoint="brittle")),
    ],
)  # fmt: skip
def test_a_scenario_is_read_into_its_model(text: str, scenario: object) -> None:
    storm = read(text)
    assert storm.scenario == scenario
    assert storm.text == text
    assert storm.name == "mine"
    assert storm.contestants == ()


def test_the_settings_are_plain_and_complete() -> None:
    storm = read(CROWD + "about = 'Seven.'")
    assert storm.about == "Seven."
    assert storm.model == "timeline"
    assert storm.settings == {"clients": 7, "retries": 2, "bucket": 0.1}
    settings = read(SERVICE).settings
    assert settings["queue"] == settings["timeout"] == "unlimited"
    assert settings["outage"] is None


def test_a_capacity_in_steps_is_kept_as_written() -> None:
    storm = read("model = 'backlog'\nwaiting = 7\ncapacity = [[0, 20], [10, 40]]")
    assert storm.settings["capacity"] == [[0, 20], [10, 40]]


def test_policies_are_contestants_in_the_order_of_the_file() -> None:
    storm = read(
        CROWD
        + "[policies.zebra]\nattempts = 3\n"
        + "[policies.ant]\njitter = {kind = 'full'}\n"
        + "[policies.ant.backoff]\nkind = 'exponential'\nbase = 2\ncap = 9\n"
    )
    assert storm.contestants == (
        Contestant("zebra", Policy(attempts=3)),
        Contestant("ant", Policy(jitter=Full(), backoff=Exponential(base=2, cap=9))),
    )


def test_guards_of_the_scenario_stand_before_every_policy_without_its_own() -> None:
    storm = read(
        SERVICE
        + "[budget]\nkind = 'quota'\ncapacity = 50\n"
        + "[breaker]\nopen_for = 3\n"
        + "[policies.plain]\n"
        + "[policies.own]\nbudget = {kind = 'ratio', ratio = 0.2}\nbreaker = {failures = 9}\n"
    )
    quota, breaker = QuotaRule(capacity=50), BreakerRule(open_for=3)
    assert (storm.budget, storm.breaker) == (quota, breaker)
    assert storm.contestants == (
        Contestant("plain", Policy(), quota, breaker),
        Contestant("own", Policy(), RatioRule(ratio=0.2), BreakerRule(failures=9)),
    )


def test_paced_stands_for_the_lane_s_pacer() -> None:
    assert read(LANE + "[policies.paced]").contestants == (Contestant("paced", None),)


def test_the_pacer_may_probe_by_another_rule() -> None:
    rarely = Contestant("paced", None, probe=ProbeRule(late=0.2))
    assert read(LANE + "[policies.paced]\nprobe = {late = 0.2}").contestants == (rarely,)


@pytest.mark.parametrize(
    ("text", "field", "value", "wanted"),
    [
        ("", "model", None, "one of contention, timeline, server, backlog"),
        ("model = 3", "model", 3, "one of contention, timeline, server, backlog"),
        ("model = 'servr'", "model", "servr", "backlog (did you mean server?)"),
        (ROW + "cleints = 3", "cleints", 3, "(did you mean clients?)"),
        (ROW + "waiting = 3", "waiting", 3, "one of the keys model, about, policies, clients,"),
        (ROW + "budget = {kind = 'quota'}", "budget", {"kind": "quota"}, "left out: contention"),
        ("mode = 'server'", "mode", "server", "named model"),
        ("model = 'contention'", "clients", None, "a whole number, 1 or more"),
        ("model = 'contention'\nclients = 0", "clients", 0, "a whole number, 1 or more"),
        ("model = 'contention'\nclients = 1.5", "clients", 1.5, "a whole number, 1 or more"),
        ("model = 'contention'\nclients = true", "clients", True, "a whole number, 1 or more"),
        (ROW + "latency_mean = -1", "latency_mean", -1, "a number of seconds from 0"),
        (ROW + "latency_mean = nan", "latency_mean", None, "a number of seconds from 0"),
        (ROW + "latency_mean = '1 s'", "latency_mean", "1 s", "a number of seconds from 0"),
        (ROW + "about = 3", "about", 3, "a string"),
        (ROW + "policies = 3", "policies", 3, "a table of keys and values"),
        (ROW + "policies = {a = 3}", "policies.a", 3, "a table of keys and values"),
        (SERVICE + "queue = 'endless'", "queue", "endless", "0 or more, or 'unlimited'"),
        (SERVICE + "discipline = 'fi'", "discipline", "fi", "one of fifo, lifo"),
        (SERVICE + "budget = {kind = 'qota'}", "budget.kind", "qota", "(did you mean quota?)"),
        (SERVICE + "budget = {}", "budget.kind", None, "one of quota, ratio"),
        (SERVICE + "budget = 3", "budget", 3, "a table of keys and values"),
        (SERVICE + "budget = {kind = 'quota', cost = 900}", "budget.cost", 900, "at most the cap"),
        (SERVICE + "budget = {kind = 'ratio', ratio = 2}", "budget.ratio", 2, "from 0 to 1"),
        (SERVICE + "budget = {kind = 'ratio', cost = 2}", "budget.cost", 2, "one of the keys kind"),
        (SERVICE + "breaker = {open_four = 2}", "breaker.open_four", 2, "(did you mean open_for?)"),
        (SERVICE + "breaker = {open_for = 0}", "breaker.open_for", 0, "seconds above 0"),
        (SERVICE + "breaker = 3", "breaker", 3, "a table of keys and values"),
        (LANE + "lanes = 8", "lanes", 8, "at most waiting (7)"),
        (LANE + "latency = 0", "latency", 0, "above 0"),
        (LANE + "budget = {kind = 'quota'}", "budget", {"kind": "quota"}, "model 'server' has"),
        (STEPS + "[[0, 2], [9]]", "capacity[1]", [9], "a pair [seconds since it came back, cap"),
        (STEPS + "[[0, 2], [9, 0]]", "capacity[1][1]", 0, "a finite number above 0"),
        (STEPS + "[[0, 2], [9, '3']]", "capacity[1][1]", "3", "a number, 0 or more"),
        (STEPS + "[[0, 2], 9]", "capacity[1]", 9, "[seconds, capacity]"),
        (STEPS + "[[0, 2], [9, 3], [8, 4]]", "capacity[2][0]", 8, "later than the step before"),
        (STEPS + "[[1, 2]]", "capacity", [[1, 2]], "with the first at 0"),
        (STEPS + "[]", "capacity", [], "with the first at 0"),
        (STEPS + "'many'", "capacity", "many", "a number above 0, or steps"),
        (LANE + "endpoint = 'shedd'", "endpoint", "shedd", "shed"),
        (LANE + "policies.paced = {attempts = 3}", "policies.paced", {"attempts": 3}, "an empty"),
        (
            LANE + "policies.paced = {probe = {late = 0}}",
            "policies.paced.probe.late",
            0,
            "a number from 0.001 to 1",
        ),
        (CROWD + "policies.paced = {}", "policy", "paced", "'backlog'"),
        (SERVICE + "policies.paced = {}", "policy", "paced", "backlog"),
    ],
    ids=repr,
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_value_and_what_would_do(
    text: str, field: str, value: object, wanted: str
) -> None:
    error = refused(text)
    assert error.field == field
    assert wanted in error.wanted
    if value is not None:
        assert error.value == value


@pytest.mark.parametrize(
    ("policy", "field", "wanted"),
    [
        ("atempts = 3", "policies.a.atempts", "(did you mean attempts?)"),
        ("backoff = {kind = 'fixed'}", "policies.a.backoff.delay", "a number of seconds"),
        ("backoff = {kind = 'exponential', base = 9, cap = 3}", "policies.a.backoff.base", "cap"),
        ("within = -1", "policies.a.within", "or 'unlimited'"),
        ("budget = {kind = 'quota', capacity = -1}", "policies.a.budget.capacity", "above 0"),
        ("budget = {kind = 'x'}", "policies.a.budget.kind", "one of quota, ratio"),
        ("breaker = {rate = 7}", "policies.a.breaker.rate", "at most 1"),
    ],
)
def test_what_is_wrong_in_a_policy_is_named_by_its_path(
    policy: str, field: str, wanted: str
) -> None:
    error = refused(f"{SERVICE}[policies.a]\n{policy}")
    assert error.field == field
    assert wanted in error.wanted


def test_a_guard_of_a_policy_needs_a_server_to_learn_from() -> None:
    error = refused(CROWD + "policies.a = {budget = {kind = 'quota'}}")
    assert error.field == "policies.a.budget"
    assert error.wanted == "left out: timeline has no guards, model 'server' has"


@pytest.mark.parametrize("name", names())
def test_settings_read_back_are_the_same_scenario(name: str) -> None:
    storm = shipped(name)
    settings = {key: value for key, value in storm.settings.items() if value is not None}
    assert read(toml({"model": storm.model, **settings})).scenario == storm.scenario


KEYS = ("model", "about", "budget", "breaker", *chain(*(form.keys for form in MODELS.values())))
plain = st.sampled_from([*MODELS, "fifo", "shed", "unlimited", "quota", ""]) | st.text(max_size=3)
value = plain | st.booleans() | st.integers(-3, 10**20) | st.floats() | st.just([[0, 1], [2, 3]])


@given(
    model=st.sampled_from([*MODELS]),
    settings=st.dictionaries(st.sampled_from(KEYS) | st.text("abc", min_size=1), value, max_size=9),
)
def test_whatever_is_in_a_file_it_is_read_or_refused(
    model: str, settings: dict[str, object]
) -> None:
    try:
        read(toml({"model": model, **settings}))
    except ScenarioError as error:
        assert error.wanted  # noqa: PT017  it may also be fine


def test_broken_toml_is_named_by_its_line() -> None:
    error = refused("model = 'timeline'\nclients 3")
    assert error.field == "line 2"
    assert error.value == "clients 3"
    assert error.wanted.startswith("valid TOML: ")
    assert not isinstance(error, PolicyError)


def test_a_file_is_read_and_names_the_storm(tmp_path: Path) -> None:
    path = tmp_path / "monday.toml"
    path.write_text("\ufeff" + ROW, encoding="utf-8")
    assert load(path).name == load(str(path)).name == "monday"


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "monday.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ScenarioError, match="it must be text in UTF-8"):
        load(path)
