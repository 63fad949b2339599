"""Tests that every request of the page is answered once."""

from __future__ import annotations

import comm
import pytest

from workbench.errors import InputError
from workbench.widgets.messages import one_line, read_request, text_in
from workbench.widgets.panel import STATIC, Panel


class Adder(Panel):
    _esm = STATIC / "matrix.js"
    handlers = {"add": "_add", "break": "_break", "count": "_count"}

    def _add(self, body):
        if "a" not in body:
            raise InputError("nothing to add", source="widget", expected="a")
        return {"sum": body["a"] + 1}

    def _count(self, body):
        for i in range(2):
            self.tell("at", {"i": i})
        return {"counted": 2}

    def _break(self, body):
        raise ZeroDivisionError("no")


@pytest.fixture
def adder():
    panel = Adder()
    yield panel
    panel.close()


def test_an_answer_carries_the_id_of_its_request(adder):
    assert adder.receive({"id": 7, "type": "add", "body": {"a": 1}}) == {"id": 7, "type": "answer", "body": {"sum": 2}}


def test_bad_input_is_one_line_without_a_traceback(adder):
    answer = adder.receive({"id": 8, "type": "add"})
    assert (answer["id"], answer["type"], answer["traceback"]) == (8, "failure", "")
    assert "nothing to add" in answer["message"]


def test_an_exception_is_answered_with_its_traceback(adder):
    answer = adder.receive({"id": 9, "type": "break"})
    assert answer["message"] == "ZeroDivisionError: no"
    assert "_break" in answer["traceback"]


def test_an_unknown_request_names_the_known_ones(adder):
    assert adder.receive({"id": 1, "type": "sing"})["message"] == "unknown request 'sing'; known: add, break, count"


@pytest.mark.parametrize("content", [None, [], {"id": "1", "type": "add"}, {"id": True, "type": "add"}, {"id": 1}])
def test_what_is_no_request_is_answered_too(adder, content):
    assert adder.receive(content)["type"] == "failure"


def test_half_of_a_character_is_refused_wherever_it_stands(adder):
    for body in ({"a": "x\ud800"}, {"a": [{"b": "\udfff"}]}, {"\ud800": 1}):
        answer = adder.receive({"id": 5, "type": "add", "body": body})
        assert (answer["id"], answer["type"], answer["traceback"]) == (5, "failure", "")
        assert "half of a character" in answer["message"] and answer["message"].isascii()


def test_a_message_is_one_line_and_not_too_long(adder):
    assert adder.receive({"id": 1, "type": "a\nb\x1b[31m"})["message"].startswith(
        "unknown request 'a\\nb\\x1b[31m'; known"
    )
    long = adder.receive({"id": 1, "type": "x" * 100_000})["message"]
    assert len(long) < 1_010 and long.endswith("known: add, break, count")
    assert one_line("Straße → 东京") == "Straße → 东京"


@pytest.mark.parametrize("value", [1, True, ["a"], {}, 1.5])
def test_what_is_no_text_is_refused(value):
    with pytest.raises(InputError, match="format: not a text"):
        text_in({"format": value}, "format")
    assert text_in({"format": None}, "format", "x") == text_in({}, "format", "x") == "x"


def test_an_interrupted_request_is_answered(adder, monkeypatch):
    def interrupted(body):
        raise KeyboardInterrupt

    monkeypatch.setattr(adder, "_add", interrupted)
    assert adder.receive({"id": 2, "type": "add"})["message"] == "interrupted"


def test_a_request_without_a_body_has_an_empty_one():
    assert read_request({"id": 1, "type": "state"}).body == {}


def test_what_is_told_meanwhile_comes_before_the_answer_in_one_message(said, adder):
    adder._handle_custom_msg({"id": 3, "type": "count"}, [])
    (message,) = said
    assert message["type"] == "several"
    assert [m["body"] for m in message["body"]] == [{"i": 0}, {"i": 1}, {"counted": 2}]
    assert [m["id"] for m in message["body"]] == [0, 0, 3]
    # Nothing is held back afterwards, or goes with an answer that it does not belong to.
    adder.tell("at", {"i": 2})
    adder._handle_custom_msg({"id": 4, "type": "add", "body": {"a": 1}}, [])
    assert [(m["id"], m["type"]) for m in said[1:]] == [(0, "at"), (4, "answer")]


def test_a_request_goes_to_the_subshell_that_it_names(monkeypatch):
    class Remembering(comm.DummyComm):
        """A comm as of ipykernel 7.4, which last spoke under a subshell that is gone."""

        def _reply_subshell_for(self, data, default):
            return "gone"

    monkeypatch.setattr(comm, "create_comm", Remembering)
    panel = Adder()
    assert panel.comm._reply_subshell_for({"content": {"id": 1}}, "named") == "named"
    assert panel.comm._reply_subshell_for({"content": {"id": 1}}, None) is None
    panel.close()
