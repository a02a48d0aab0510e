"""The vendors' own Python libraries against a running product, with their defaults: only the address and the
key differ from their documentation. From the environment: PARLEY_URL, PARLEY_API_KEY, WAV (a file in which
HEARD is said) and HEARD."""

import os
import unittest

URL = os.environ["PARLEY_URL"]
KEY = os.environ["PARLEY_API_KEY"]
WAV = os.environ["WAV"]
HEARD = os.environ["HEARD"]

# Less than any format takes for what is said here.
SPOKEN_BYTES = 2_000


def wav() -> bytes:
    with open(WAV, "rb") as file:
        return file.read()


def is_mp3(audio: bytes) -> bool:
    return audio[:3] == b"ID3" or (audio[0] == 0xFF and audio[1] & 0xE0 == 0xE0)


class GeneralVendor(unittest.TestCase):
    def setUp(self) -> None:
        import openai

        self.openai = openai
        self.client = openai.OpenAI(base_url=f"{URL}/compat/v1", api_key=KEY)
        self.addCleanup(self.client.close)

    def test_speaks_by_the_name_of_its_own_model(self) -> None:
        audio = self.client.audio.speech.create(model="tts-1", voice="default", input="Good morning.").read()
        self.assertGreater(len(audio), SPOKEN_BYTES)

    def test_streams_speech_to_a_file(self) -> None:
        speech = self.client.audio.speech.with_streaming_response
        with speech.create(model="tts-1", voice="default", input="Good morning.", response_format="wav") as answer:
            audio = b"".join(answer.iter_bytes())
        self.assertEqual(audio[:4], b"RIFF")

    def test_transcribes_an_open_file(self) -> None:
        with open(WAV, "rb") as file:
            self.assertEqual(self.client.audio.transcriptions.create(model="whisper-1", file=file).text, HEARD)

    def test_answers_in_chat_completions_with_audio(self) -> None:
        completion = self.client.chat.completions.create(
            model="parley/s2.1-pro",
            modalities=["text", "audio"],
            audio={"voice": "default", "format": "pcm16"},
            messages=[{"role": "user", "content": "Good morning."}],
        )
        self.assertEqual(completion.choices[0].message.audio.transcript, "Good morning.")

    def test_lists_models_and_raises_its_own_errors(self) -> None:
        self.assertIn("parley/s2.1-pro", [model.id for model in self.client.models.list()])
        with self.assertRaises(self.openai.BadRequestError):
            self.client.audio.speech.create(model="gpt-9", voice="default", input="Hello.")
        with self.assertRaises(self.openai.AuthenticationError):
            self.client.with_options(api_key="nope").audio.speech.create(
                model="tts-1", voice="default", input="Hello."
            )


class VoiceVendor(unittest.TestCase):
    def setUp(self) -> None:
        from elevenlabs.client import ElevenLabs

        self.client = ElevenLabs(base_url=f"{URL}/compat/elevenlabs", api_key=KEY)

    def test_speaks_mp3_by_default_whole_and_streamed(self) -> None:
        speech = self.client.text_to_speech
        whole = b"".join(speech.convert("default", text="Good morning."))
        streamed = b"".join(speech.stream("default", text="Good morning."))
        self.assertTrue(is_mp3(whole) and is_mp3(streamed))
        self.assertGreater(min(len(whole), len(streamed)), SPOKEN_BYTES)

    def test_says_when_each_character_is_spoken(self) -> None:
        timed = self.client.text_to_speech.convert_with_timestamps("default", text="Good morning.")
        self.assertTrue("".join(timed.alignment.characters).startswith("Good morning"))

    def test_transcribes_an_open_file(self) -> None:
        with open(WAV, "rb") as file:
            heard = self.client.speech_to_text.convert(model_id="scribe_v1", file=file)
        self.assertEqual(heard.text, HEARD)

    def test_lists_voices_and_models_and_raises_its_own_errors(self) -> None:
        from elevenlabs.core.api_error import ApiError

        self.assertIn("local:slt", [voice.voice_id for voice in self.client.voices.get_all().voices])
        self.assertIn("parley/s2.1-pro", [model.model_id for model in self.client.models.list()])
        with self.assertRaises(ApiError) as refusal:
            b"".join(self.client.text_to_speech.convert("f" * 32, text="a"))
        self.assertIn("voice_not_found", str(refusal.exception.body))


class NativeVendor(unittest.TestCase):
    """The vendor whose speech API has the shape of Parley's own."""

    def setUp(self) -> None:
        from fishaudio import FishAudio

        self.client = FishAudio(base_url=URL, api_key=KEY)
        self.addCleanup(self.client.close)

    def test_speaks_mp3_by_default_whole_and_streamed(self) -> None:
        whole = self.client.tts.convert(text="Good morning.")
        streamed = b"".join(self.client.tts.stream(text="Good morning."))
        self.assertTrue(is_mp3(whole) and is_mp3(streamed))
        self.assertGreater(min(len(whole), len(streamed)), SPOKEN_BYTES)

    def test_speaks_over_its_socket_while_the_text_comes(self) -> None:
        audio = b"".join(self.client.tts.stream_websocket(iter(["Good ", "morning."])))
        self.assertTrue(is_mp3(audio))
        self.assertGreater(len(audio), SPOKEN_BYTES)

    def test_transcribes_with_segments(self) -> None:
        heard = self.client.asr.transcribe(audio=wav(), language="en")
        self.assertEqual(heard.text, HEARD)
        self.assertEqual(" ".join(segment.text.strip() for segment in heard.segments), HEARD)

    def test_keeps_voices_and_says_what_is_left_to_spend(self) -> None:
        voice = self.client.voices.create(title="Warm", voices=[wav()])
        self.addCleanup(self.client.voices.delete, voice.id)
        self.assertIn(voice.id, [listed.id for listed in self.client.voices.list(self_only=True).items])
        self.assertEqual(self.client.voices.get(voice.id).title, "Warm")
        self.assertGreaterEqual(self.client.account.get_credits().credit, 0)

    def test_raises_its_own_errors(self) -> None:
        from fishaudio import FishAudio
        from fishaudio.exceptions import AuthenticationError

        with self.assertRaises(AuthenticationError):
            FishAudio(base_url=URL, api_key="nope").tts.convert(text="a")


if __name__ == "__main__":
    unittest.main()
