"""Wrong keys and their senders, in a time of our own."""

import asyncio

import pytest

from kb.serving import lockout
from kb.serving.lockout import FREE, WAITING_ALL, WAITING_EACH, Attempts


class Time:
    """Passes when everybody sleeps, and only then."""

    def __init__(self):
        self.now = 1000.0
        self._alarms = []

    def __call__(self):
        return self.now

    async def sleep(self, seconds):
        alarm = asyncio.Event()
        self._alarms.append((self.now + seconds, alarm))
        await alarm.wait()

    async def pass_by(self, seconds):
        end = self.now + seconds
        for at, alarm in sorted(self._alarms, key=lambda each: each[0]):
            if at <= end:
                self.now = at
                alarm.set()
                await _settle()
        self._alarms = [each for each in self._alarms if not each[1].is_set()]
        self.now = end


async def _settle():
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.fixture
def time(monkeypatch):
    time = Time()
    monkeypatch.setattr(lockout, "sleep", time.sleep)
    return time


def test_the_first_are_answered_at_once_and_the_others_ten_a_second(time):
    async def run():
        guessed = Attempts(time)
        for _ in range(FREE):
            assert await guessed.failed("192.0.2.1")
        assert time.now == 1000.0
        waiting = [asyncio.create_task(guessed.failed("192.0.2.1")) for _ in range(4)]
        await _settle()
        answered = []
        for _ in range(4):
            answered.append(sum(task.done() for task in waiting))
            await time.pass_by(0.1)
        assert answered == [0, 1, 2, 3]
        assert all(task.result() for task in waiting)

    asyncio.run(run())


def test_no_more_wait_than_connections_can_be_spared_for(time):
    async def run():
        guessed = Attempts(time)

        async def crowd(address, size):
            asked = [asyncio.create_task(guessed.failed(address)) for _ in range(FREE + size)]
            await _settle()
            told = [task.result() for task in asked if task.done()]
            return told.count(False), len(asked) - len(told)

        assert await crowd("192.0.2.1", 500) == (500 - WAITING_EACH, WAITING_EACH)
        crowds = [await crowd(f"198.51.100.{number}", 50) for number in range(20)]
        assert WAITING_EACH + sum(waiting for _, waiting in crowds) == WAITING_ALL
        assert await guessed.failed("203.0.113.7"), "a first mistake is told as such"
        await time.pass_by(WAITING_EACH / 10)
        assert (await crowd("203.0.113.8", 50))[1] == WAITING_EACH, "there is room again"

    asyncio.run(run())


def test_who_hangs_up_leaves_its_place(time):
    async def run():
        guessed = Attempts(time)
        for _ in range(FREE):
            await guessed.failed("192.0.2.1")
        for _ in range(3 * WAITING_EACH):
            gone = asyncio.create_task(guessed.failed("192.0.2.1"))
            await _settle()
            assert not gone.done()
            gone.cancel()
            await _settle()

    asyncio.run(run())


def test_the_table_of_guessers_stays_small_and_forgets_the_first(time):
    async def run():
        guessed = Attempts(time, peers=100)
        for number in range(1000):
            for _ in range(FREE):
                assert await guessed.failed(f"10.0.{number // 256}.{number % 256}")
        assert len(guessed._left) == 100
        late = asyncio.create_task(guessed.failed("10.0.3.231"))
        await _settle()
        assert not late.done()
        late.cancel()
        assert await guessed.failed("10.0.0.0")
        await time.pass_by(60)
        assert await guessed.failed("10.9.9.9")
        assert len(guessed._left) == 1

    asyncio.run(run())
