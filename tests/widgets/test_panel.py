"""Every request of the page is answered once, whatever it is."""

from __future__ import annotations

import pytest

from workbench.errors import InputError
from workbench.widgets.messages import read_request
from workbench.widgets.panel import STATIC, Panel


class Adder(Panel):
    _esm = STATIC / "matrix.js"
    handlers = {"add": "_add", "break": "_break"}

    def _add(self, body):
        if "a" not in body:
            raise InputError("nothing to add", source="widget", expected="a")
        return {"sum": body["a"] + 1}

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
    assert adder.receive({"id": 1, "type": "sing"})["message"] == "unknown request 'sing'; known: add, break"


@pytest.mark.parametrize("content", [None, [], {"id": "1", "type": "add"}, {"id": True, "type": "add"}, {"id": 1}])
def test_what_is_no_request_is_answered_too(adder, content):
    assert adder.receive(content)["type"] == "failure"


def test_a_request_without_a_body_has_an_empty_one():
    assert read_request({"id": 1, "type": "state"}).body == {}
