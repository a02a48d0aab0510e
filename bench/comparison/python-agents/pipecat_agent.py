"""An agent built as the documentation of Pipecat describes, run by Pipecat's own runner.

Deepgram, OpenAI's model and voice, Silero's voice activity detector and Pipecat's Smart Turn, all with their
defaults, in a LiveKit room. It uses the same engines as the other sides, and writes what it has said to a file
when the caller has left.
"""

import json
import os
from pathlib import Path

from pipecat.audio.vad.silero import SileroVADAnalyzer
from pipecat.frames.frames import TTSSpeakFrame
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import (
    LLMContextAggregatorPair,
    LLMUserAggregatorParams,
)
from pipecat.runner.types import RunnerArguments
from pipecat.runner.utils import create_transport
from pipecat.services.deepgram.stt import DeepgramSTTService
from pipecat.services.openai.llm import OpenAILLMService
from pipecat.services.openai.tts import OpenAITTSService
from pipecat.transports.livekit.transport import LiveKitParams
from pipecat.turns.user_stop import SpeechTimeoutUserTurnStopStrategy
from pipecat.turns.user_turn_strategies import UserTurnStrategies
from pipecat.workers.runner import WorkerRunner

ENGINE_URL = os.environ["COMPARISON_OPENAI_URL"]
TRANSPORTS = {"livekit": lambda: LiveKitParams(audio_in_enabled=True, audio_out_enabled=True)}


def end_of_turn() -> UserTurnStrategies:
    """Smart Turn, which is the default, or silence after speech alone."""
    if os.environ["COMPARISON_END_OF_TURN"] == "speech":
        return UserTurnStrategies(stop=[SpeechTimeoutUserTurnStopStrategy()])
    return UserTurnStrategies()


async def bot(arguments: RunnerArguments) -> None:
    """Runs one call. Pipecat's runner calls it."""
    transport = await create_transport(arguments, TRANSPORTS)
    context = LLMContext()
    user_aggregator, assistant_aggregator = LLMContextAggregatorPair(
        context,
        user_params=LLMUserAggregatorParams(
            vad_analyzer=SileroVADAnalyzer(), user_turn_strategies=end_of_turn()
        ),
    )
    pipeline = Pipeline(
        [
            transport.input(),
            DeepgramSTTService(
                api_key="stand-in", base_url=os.environ["COMPARISON_DEEPGRAM_URL"]
            ),
            user_aggregator,
            OpenAILLMService(
                api_key="stand-in",
                base_url=ENGINE_URL,
                settings=OpenAILLMService.Settings(
                    model="gpt-4.1-mini",
                    system_instruction=os.environ["COMPARISON_INSTRUCTIONS"],
                ),
            ),
            OpenAITTSService(api_key="stand-in", base_url=ENGINE_URL),
            transport.output(),
            assistant_aggregator,
        ]
    )
    worker = PipelineWorker(
        pipeline, params=PipelineParams(enable_metrics=True, enable_usage_metrics=True)
    )
    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)

    @transport.event_handler("on_first_participant_joined")
    async def on_first_participant_joined(_transport: object, _participant: str) -> None:
        await worker.queue_frame(TTSSpeakFrame(os.environ["COMPARISON_GREETING"]))

    @transport.event_handler("on_participant_disconnected")
    async def on_participant_disconnected(_transport: object, _participant: str) -> None:
        await runner.cancel()

    await runner.run()
    said = [
        str(message.get("content", ""))
        for message in context.get_messages()
        if isinstance(message, dict) and message.get("role") == "assistant"
    ]
    # Renamed after writing: the bench polls for the file and must not read a part of it.
    file = Path(os.environ["COMPARISON_HISTORY"]) / f"{arguments.body['call']}.json"
    part = file.with_suffix(".part")
    part.write_text(json.dumps(said))
    part.rename(file)


if __name__ == "__main__":
    from pipecat.runner.run import main

    main()
