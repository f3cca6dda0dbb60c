"""Shared by the cases for Python: the address, comparisons, and the list of things that work."""

import json
import os
import urllib.request

base_url = os.environ["BASE_URL"]
token = os.environ["TOKEN"]
works = []


def equal(what, actual, expected):
    """Records that something works."""
    if actual != expected:
        raise AssertionError(f"{what}: {actual!r} instead of {expected!r}")
    if what not in works:
        works.append(what)


def fails(what, call):
    """Records that a call fails with the words of the program."""
    try:
        call()
    except Exception as error:  # each client has errors of its own
        equal(what, "The kettle is broken." in str(error), True)
        return
    raise AssertionError(f"{what}: the call succeeded")


def is_stopped():
    """Asks whether the latest slow reply was stopped."""
    for _ in range(50):
        with urllib.request.urlopen(os.environ["CONTROL_URL"] + "/test/stopped") as answer:
            if answer.read() == b"stopped":
                return True
    return False


def done():
    print(json.dumps({"works": works}), flush=True)
    os._exit(0)
