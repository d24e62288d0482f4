import time

import pytest

from wayproof.impl.journey import SystemClock


def test_the_clock_shows_utc_in_whole_milliseconds() -> None:
    before = time.time_ns() // 1_000_000
    shown = SystemClock().now()
    assert before <= shown <= time.time_ns() // 1_000_000 + 1


def test_setting_the_system_clock_back_gives_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: 5_000_000_000)
    monkeypatch.setattr(time, "monotonic_ns", lambda: 1_000_000_000)
    clock = SystemClock()
    monkeypatch.setattr(time, "time_ns", lambda: 2_000_000_000)
    monkeypatch.setattr(time, "monotonic_ns", lambda: 1_250_000_000)
    assert clock.now() == 5_250


def test_setting_the_system_clock_forward_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SystemClock()
    monkeypatch.setattr(time, "time_ns", lambda: 9_999_000_000_000_000_000)
    assert clock.now() == 9_999_000_000_000
