"""An agent built as the documentation of LiveKit Agents for Python describes.

AgentSession with the voice activity detector and the end-of-turn model that run on the machine, and the plugins
for Deepgram and OpenAI, all with their defaults. It uses the same engines as the other sides, and writes what it
has said to a file when the session closes.
"""

import json
import os
from pathlib import Path

from livekit.agents import Agent, AgentServer, AgentSession, JobContext, cli, inference
from livekit.plugins import deepgram, openai

ENGINE_URL = os.environ["COMPARISON_OPENAI_URL"]
# A busy machine can take longer than ten seconds to start a process. The worker does not report the machine's load,
# because the callers and the engines would count as its own: the server gives no job to a worker on a machine that
# is fully used, whatever the worker's threshold is.
server = AgentServer(
    host="127.0.0.1", port=0, load_fnc=lambda: 0.0, initialize_process_timeout=60.0
)


def end_of_turn() -> dict[str, object]:
    """The model that runs on the machine, or the voice activity detector alone."""
    if os.environ["COMPARISON_END_OF_TURN"] == "speech":
        return {"turn_detection": "vad"}
    return {"turn_detection": inference.TurnDetector(version="v1-mini")}


@server.rtc_session(agent_name="comparison")
async def entrypoint(ctx: JobContext) -> None:
    session = AgentSession(
        vad=inference.VAD(model="silero"),
        stt=deepgram.STT(
            api_key="stand-in",
            base_url=os.environ["COMPARISON_DEEPGRAM_URL"].replace("ws", "http", 1) + "/v1/listen",
        ),
        llm=openai.LLM(api_key="stand-in", base_url=ENGINE_URL, model="gpt-4.1-mini"),
        # The stand-in speaks PCM only.
        tts=openai.TTS(api_key="stand-in", base_url=ENGINE_URL, response_format="pcm"),
        turn_handling=end_of_turn(),
    )

    @session.on("close")
    def on_close(_event: object) -> None:
        said = [
            item.text_content or ""
            for item in session.history.items
            if item.type == "message" and item.role == "assistant"
        ]
        # Renamed after writing: the bench polls for the file and must not read a part of it.
        file = Path(os.environ["COMPARISON_HISTORY"]) / f"{ctx.room.name}.json"
        part = file.with_suffix(".part")
        part.write_text(json.dumps(said))
        part.rename(file)

    await session.start(
        agent=Agent(instructions=os.environ["COMPARISON_INSTRUCTIONS"]), room=ctx.room
    )
    session.say(os.environ["COMPARISON_GREETING"])


if __name__ == "__main__":
    cli.run_app(server)
