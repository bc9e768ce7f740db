"""Pings of a peer that does not read the answers."""

import asyncio

from kb.serving.websocket import GuardedWebSocket


class Wire:
    """Both what the protocol would send and where it goes."""

    def __init__(self):
        self.waiting, self.written = [], []

    def data_to_send(self):
        waiting, self.waiting = self.waiting, []
        return waiting

    def write(self, data):
        self.written.append(data)


def test_pings_are_answered_only_while_the_answers_are_read():
    connection = object.__new__(GuardedWebSocket)
    connection.conn = connection.transport = wire = Wire()
    connection.writable, connection.close_sent = asyncio.Event(), False
    for is_read in (True, False, True):
        (connection.writable.set if is_read else connection.writable.clear)()
        wire.waiting.append(b"pong")
        connection.handle_ping()
        assert wire.waiting == []
    assert wire.written == [b"pong", b"pong"]
