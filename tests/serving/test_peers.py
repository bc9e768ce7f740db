"""Who asks, behind proxies that are trusted and behind others."""

from ipaddress import ip_network

import pytest

from kb.serving.peers import MOST_HOPS, Peers

PROXIES = Peers((ip_network("10.0.0.0/8"), ip_network("::1/128")))


def peer(peers, connected, **headers):
    sent = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return peers.of({"client": (connected, 50000), "headers": sent})


def test_without_trusted_proxies_a_peer_is_who_connected():
    assert peer(Peers(), "10.0.0.1", x_forwarded_for="192.0.2.9") == "10.0.0.1"


def test_who_is_no_trusted_proxy_is_not_believed():
    assert peer(PROXIES, "192.0.2.1", x_forwarded_for="198.51.100.1") == "192.0.2.1"


@pytest.mark.parametrize(
    ("said", "who"),
    [
        ("192.0.2.9", "192.0.2.9"),
        ("198.51.100.1, 192.0.2.9", "192.0.2.9"),
        ("198.51.100.1, 192.0.2.9, 10.1.2.3", "192.0.2.9"),
        ("10.9.9.9, 10.1.2.3", "10.9.9.9"),
        ("192.0.2.9:4711", "192.0.2.9"),
        ("[2001:db8::7]:4711", "2001:db8::7"),
        ("2001:db8::7", "2001:db8::7"),
        ("192.0.2.9, unknown", "10.0.0.1"),
        ("192.0.2.9, unknown, 10.1.2.3", "10.1.2.3"),
        ("", "10.0.0.1"),
        (", ,", "10.0.0.1"),
        ("192.0.2.9'; DROP TABLE", "10.0.0.1"),
    ],
)
def test_a_trusted_proxy_tells_by_the_last_address_that_is_none(said, who):
    assert peer(PROXIES, "10.0.0.1", x_forwarded_for=said) == who


@pytest.mark.parametrize(
    ("said", "who"),
    [
        ("for=192.0.2.9", "192.0.2.9"),
        ('for="[2001:db8::7]:4711";proto=https', "2001:db8::7"),
        ("for=198.51.100.1, proto=http;For=192.0.2.9, for=10.1.2.3", "192.0.2.9"),
        ("for=_hidden", "10.0.0.1"),
        ("by=10.0.0.1", "10.0.0.1"),
    ],
)
def test_it_may_say_so_in_the_other_header(said, who):
    assert peer(PROXIES, "10.0.0.1", forwarded=said) == who


def test_two_headers_that_disagree_are_the_proxy_itself():
    one = {"x_forwarded_for": "192.0.2.9", "forwarded": "for=198.51.100.1"}
    assert peer(PROXIES, "10.0.0.1", **one) == "10.0.0.1"
    same = {"x_forwarded_for": "192.0.2.9", "forwarded": "for=192.0.2.9"}
    assert peer(PROXIES, "10.0.0.1", **same) == "192.0.2.9"


def test_a_header_may_stand_twice_and_the_last_is_the_nearest():
    headers = [(b"x-forwarded-for", b"198.51.100.1"), (b"x-forwarded-for", b"192.0.2.9")]
    assert PROXIES.of({"client": ("10.0.0.1", 1), "headers": headers}) == "192.0.2.9"


def test_an_address_of_ipv4_in_ipv6_is_the_same_proxy():
    assert peer(PROXIES, "::ffff:10.0.0.1", x_forwarded_for="192.0.2.9") == "192.0.2.9"


def test_an_endless_list_of_proxies_is_followed_only_so_far():
    said = ", ".join(["192.0.2.9", *["10.0.0.2"] * MOST_HOPS])
    assert peer(PROXIES, "10.0.0.1", x_forwarded_for=said) == "10.0.0.2"


def test_without_a_connection_there_is_no_address():
    assert PROXIES.of({"client": None, "headers": []}) == ""
