"""What the pages' scripts compute by themselves: unchanged JSON, times in words, bars."""

import json
import random
from pathlib import Path
from typing import Any

from tarry.service.model.words import LANES
from tests import node
from tests.service.web.test_pages import SCRIPTS, STATIC

BLANKS = ("", "", " ", "\n", "\t ", "\r\n  ")


def run(code: str, folder: Path, *given: object) -> Any:  # noqa: ANN401  JSON
    """What a script answers in JSON, of what it is given."""
    (folder / "given.json").write_text(json.dumps(given))
    head = (
        f'import {{ readFileSync }} from "node:fs";\n'
        f'const given = JSON.parse(readFileSync("{folder / "given.json"}"));\n'
    )
    script = folder / "script.mjs"
    script.write_text(head + code.replace("WEB", STATIC.as_uri()))
    ended, said = node.run("node", [str(script)], folder)
    assert ended == 0, said
    return json.loads(said)


def written(chance: random.Random, depth: int = 0) -> str:
    """Some JSON, as somebody might have written it."""

    def gap() -> str:
        return chance.choice(BLANKS)

    def word() -> str:
        letters = [
            "a",
            "é",
            '\\"',
            "\\\\",
            "\\u00e9",
            "{",
            "}",
            "[",
            ",",
            ":",
            "payload",
            " ",
            "\\/",
        ]
        return '"' + "".join(chance.choices(letters, k=chance.randrange(6))) + '"'

    kind = chance.randrange(3 if depth < 4 else 1)
    if kind == 0:
        return chance.choice(
            ["1", "-0.10", "1e400", "12345678901234567890", "true", "null", word()]
        )
    many = range(chance.randrange(4))
    if kind == 1:
        parts = [gap() + written(chance, depth + 1) + gap() for _ in many]
        return "[" + (",".join(parts) or gap()) + "]"
    parts = [f"{gap()}{word()}{gap()}:{gap()}{written(chance, depth + 1)}{gap()}" for _ in many]
    return "{" + (",".join(parts) or gap()) + "}"


def tokens(text: str) -> list[str]:
    """The parts of JSON without what is between them."""
    parts, at = list[str](), 0
    while at < len(text):
        end = at + 1
        if text[at] == '"':
            while text[end] != '"':
                end += 2 if text[end] == "\\" else 1
            end += 1
        if not text[at].isspace():
            parts.append(text[at:end])
        at = end
    return parts


def test_a_payload_is_cut_out_as_it_stands_and_only_blanks_change(tmp_path: Path) -> None:
    chance = random.Random(7)
    payloads = [written(chance) for _ in range(500)]
    answers = [
        f'{{"id":"msg_1","eventType":"payload","payload":{payload},"tags":["\\"payload\\":1"]}}'
        for payload in payloads
    ]
    code = """
    import { fieldText, indent, isJson } from "WEB/payload.js";
    const cut = given[0].map((text) => fieldText(text, "payload"));
    console.log(JSON.stringify([cut, cut.map(indent), cut.every(isJson), isJson("{]")]));
    """
    cut, spread, valid, wrong = run(code, tmp_path, answers)
    assert cut == payloads
    assert [tokens(one) for one in spread] == [tokens(one) for one in payloads]
    assert (valid, wrong) == (True, False)
    nested = '{"a":[1,{"b":[]}],"c":{}}'
    expected = '{\n  "a": [\n    1,\n    {\n      "b": []\n    }\n  ],\n  "c": {}\n}'
    code = 'import { indent } from "WEB/payload.js"; console.log(JSON.stringify(indent(given[0])))'
    assert run(code, tmp_path, nested) == expected


def test_a_large_payload_takes_no_time_to_speak_of(tmp_path: Path) -> None:
    code = """
    import { fieldText, indent } from "WEB/payload.js";
    const began = performance.now();
    for (const text of given) indent(fieldText(text, "payload"));
    console.log(JSON.stringify(performance.now() - began));
    """
    large = [
        "[" * 900 + "]" * 900,
        json.dumps("\\" * 500_000),
        json.dumps(["x"] * 150_000),
        json.dumps("a" * 10**6),
    ]
    took = run(code, tmp_path, *(f'{{"payload":{one}}}' for one in large))
    assert took < 5000


def test_times_are_told_in_words(tmp_path: Path) -> None:
    code = """
    import * as times from "WEB/times.js";
    const at = (off) => new Date(Date.now() + off * 1000).toISOString();
    const told = [at(-4.5), at(-0.2), at(90.5), at(-3 * 86400 - 3700)].map(times.formatRelative);
    const due = [at(-4), at(5.5)].map(times.formatDue);
    const distances = [at(-4.5), at(5.5), at(0)].map(times.formatDistance);
    times.setServerTime(new Date(Date.now() + 3600_000).toUTCString());
    const skewed = [at(3600), at(-3605)].map(times.formatRelative);
    const lengths = given[0].map(times.formatDuration);
    console.log(JSON.stringify([lengths, told, due, distances, ...skewed]));
    """
    lengths, times, due, distances, off, late = run(
        code, tmp_path, [0, 0.35, 9, 61, 3600, 5400, 90_000, 1e6]
    )
    assert lengths == ["0 s", "0.4 s", "9 s", "1 min 1 s", "1 h", "1 h 30 min", "1 d 1 h", "11 d"]
    assert times == ["4 s ago", "now", "in 1 min 30 s", "3 d 1 h ago"]
    assert due == ["now", "in 5 s"]
    assert distances == ["4 s", "5 s", "1 s"]
    assert (off, late) == ("now", "2 h ago"), "by the server's clock"


def test_every_attempt_is_in_one_bar(tmp_path: Path) -> None:
    chance = random.Random(7)
    now = 1_800_000_000.0
    cases = [
        [[now - chance.random() * span, chance.random() < 0.5] for _ in range(250)]
        for span in (0.5, 40, 3600, 90 * 86_400)
    ]
    code = """
    import { groupByTime } from "WEB/chart.js";
    console.log(JSON.stringify(given[0].map((points) => groupByTime(points, given[1]))));
    """
    for points, bars in zip(cases, run(code, tmp_path, cases, now), strict=True):
        assert 1 <= len(bars) <= 62
        assert sum(bar["succeeded"] for bar in bars) == sum(good for _, good in points)
        assert sum(bar["succeeded"] + bar["failed"] for bar in bars) == len(points)
        assert bars[0]["start"] <= min(at for at, _ in points)
        assert bars[-1]["start"] <= now <= bars[-1]["start"] + bars[-1]["duration"]


def test_a_server_that_ends_while_it_answers_does_not_answer(tmp_path: Path) -> None:
    code = """
    import { Api, NoResponse } from "WEB/api.js";
    const text = async () => { throw new TypeError("network error"); };
    globalThis.fetch = async () => ({ ok: true, headers: new Headers(), text });
    const error = await new Api("key").get("/app").catch((error) => error);
    console.log(JSON.stringify([error instanceof NoResponse, error.message]));
    """
    assert run(code, tmp_path) == [True, "the server does not respond"]


def test_every_script_can_be_read(tmp_path: Path) -> None:
    listed = ", ".join(json.dumps(path.as_uri()) for path in SCRIPTS)
    code = f"""
    import {{ SourceTextModule }} from "node:vm";
    for (const path of [{listed}]) new SourceTextModule(readFileSync(new URL(path), "utf8"));
    console.log("true");
    """
    (tmp_path / "given.json").write_text("[]")
    (tmp_path / "script.mjs").write_text('import { readFileSync } from "node:fs";\n' + code)
    flags = ["--experimental-vm-modules", "--no-warnings"]
    ended, said = node.run("node", [*flags, str(tmp_path / "script.mjs")], tmp_path)
    assert (ended, said.strip()) == (0, "true"), said


SENTENCES = """
class Node {}
globalThis.Node = Node;
globalThis.Text = class extends Node { constructor(text) { super(); this.text = text; } };
globalThis.document = { createElement: (tag) => Object.assign(new Node(), {
  tag, attributes: {}, children: [],
  setAttribute(name, value) { this.attributes[name] = value; },
  append(...nodes) { this.children.push(...nodes); },
}) };
const textOf = (node) => node.tag === "time" ? node.attributes["data-format"]
  : node.text ?? node.children.map(textOf).join("");
const { laneSentences } = await import("WEB/lanes.js");
const { Vocabulary } = await import("WEB/vocabulary.js");
const [tables, lanes, isPortal] = given;
const context = { vocabulary: new Vocabulary(tables), isPortal };
console.log(JSON.stringify(lanes.map((lane) => laneSentences(context, lane).map(textOf))));
"""
LANE = {"state": "closed", "scope": "endpoint", "backlog": 0}
LANE |= dict.fromkeys(("pace", "probeAt", "doneAt", "failedAt", "failingSince", "downSince"))
AT = "2026-11-15T08:00:00Z"


def sentences(folder: Path, *lanes: dict[str, object], portal: bool = False) -> list[list[str]]:
    """Describe lanes as the pages do; times are replaced by their format."""
    words = [
        {"name": name, "label": one.label, "meaning": one.meaning} for name, one in LANES.items()
    ]
    found: list[list[str]] = run(SENTENCES, folder, {"lanes": words}, lanes, portal)
    return found


def test_a_lane_is_described_in_sentences(tmp_path: Path) -> None:
    down = LANE | {"state": "open", "backlog": 24, "downSince": AT, "probeAt": AT}
    recovering = LANE | {"state": "paced", "backlog": 574, "pace": 20, "doneAt": AT}
    spared = "24 deliveries are waiting. The outage does not use up their attempts."
    assert sentences(
        tmp_path,
        LANE,
        LANE | {"backlog": 1},
        LANE | {"state": "failing", "backlog": 2, "failedAt": AT},
        down,
        LANE | {"state": "open"},
        recovering,
        LANE | {"state": "paced", "backlog": 1},
        LANE | {"state": "paused", "backlog": 3},
    ) == [
        ["No deliveries are waiting."],
        ["Messages are sent as they arrive.", "1 delivery is waiting."],
        [
            "The last attempt failed time. The next attempts show whether the endpoint is down.",
            "2 deliveries are waiting.",
        ],
        ["Down for distance. Next probe due.", spared],
        ["Down."],
        ["Recovering: sending the 574 waiting deliveries at 20/s, done in about distance."],
        ["Recovering: sending the waiting delivery."],
        [LANES["paused"].meaning, "3 deliveries are waiting."],
    ]


def test_a_tenant_is_not_told_about_endpoints_of_others(tmp_path: Path) -> None:
    lanes = [LANE | {"state": "open", "scope": scope} for scope in ("application", "origin")]
    shared = "Several endpoints of this application at this host are affected."
    whole = "The whole host is affected."
    assert sentences(tmp_path, *lanes) == [["Down.", shared], ["Down.", whole]]
    assert sentences(tmp_path, *lanes, portal=True) == [["Down.", shared], ["Down."]]


def test_what_is_old_is_forgotten_once_something_else_is_looked_at(tmp_path: Path) -> None:
    code = """
    import { Cache } from "WEB/cache.js";
    const cache = new Cache(null);
    let now = 0, found = 0;
    Date.now = () => now;
    const look = (name) => cache.value(name, async () => { found += 1; return name; });
    await look("first"); await look("first");
    now = 59_000;
    await look("second"); await look("first");
    const young = [...cache.entries.keys()];
    now = 61_000;
    await look("third");
    console.log(JSON.stringify([young, [...cache.entries.keys()], found]));
    """
    assert run(code, tmp_path) == [["first", "second"], ["second", "third"], 3]
