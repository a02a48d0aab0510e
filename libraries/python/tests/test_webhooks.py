"""The signature of webhooks."""

from __future__ import annotations

import hashlib
import hmac
import unittest

from parley_api import WebhookError, verify_webhook

SECRET = "a long random string"
SENT = 1767225600
BODY = '{"event":"call.ended","session":{"id":"é"}}'.encode()
HEX = hmac.new(SECRET.encode(), b"%d." % SENT + BODY, hashlib.sha256).hexdigest()
SIGNATURE = f"t={SENT},v1={HEX}"


def verified(body: bytes = BODY, signature: object = SIGNATURE, secret: object = SECRET, late: int = 0) -> object:
    return verify_webhook(body, signature, secret, now=lambda: SENT + late)  # type: ignore[arg-type]


class Webhooks(unittest.TestCase):
    def test_returns_the_event_of_a_signed_body(self) -> None:
        self.assertEqual(verified(), {"event": "call.ended", "session": {"id": "é"}})

    def test_ignores_unknown_elements_and_accepts_any_of_several_signatures(self) -> None:
        self.assertTrue(verified(signature=f"v0=1, t={SENT},v1=abcd, v1={HEX}"))

    def test_refuses_what_parley_did_not_sign(self) -> None:
        signatures = [None, "", SIGNATURE[:-32], f"t={SENT + 1},v1={HEX}", f"v1={HEX}", SIGNATURE.ljust(2000, ",")]
        for signature in [*signatures, f"t={SENT},v1=é"]:
            with self.subTest(signature=signature), self.assertRaises(WebhookError):
                verified(signature=signature)
        for changed in ({"body": b"{}"}, {"secret": "another"}):
            with self.subTest(changed=changed), self.assertRaises(WebhookError):
                verified(**changed)

    def test_accepts_any_of_several_secrets(self) -> None:
        self.assertTrue(verified(secret=["the new one", SECRET]))

    def test_fails_with_an_empty_secret_or_none(self) -> None:
        for secret in ("", [], [SECRET, ""]):
            with self.subTest(secret=secret), self.assertRaises(ValueError):
                verified(secret=secret)

    def test_refuses_what_was_sent_more_than_five_minutes_before_or_after_now(self) -> None:
        for late in (300, -300):
            self.assertTrue(verified(late=late))
        for late in (301, -301):
            with self.subTest(late=late), self.assertRaises(WebhookError):
                verified(late=late)


if __name__ == "__main__":
    unittest.main()
