/**
 * An agent built as the documentation of `@livekit/agents` describes: AgentSession with the voice activity
 * detector and the end-of-turn model that run on the machine, and the plugins for Deepgram and OpenAI, all
 * with their defaults. It uses the same engines as the other sides. It writes what it has said to a file when
 * the session closes.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cli, defineAgent, inference, type JobContext, ServerOptions, voice } from '@livekit/agents';
import * as deepgram from '@livekit/agents-plugin-deepgram';
import * as openai from '@livekit/agents-plugin-openai';

/** Environment variables set by `agent-process.ts`. */
const {
  COMPARISON_OPENAI_URL: engineUrl = '',
  COMPARISON_DEEPGRAM_URL: recogniserUrl = '',
  COMPARISON_HISTORY: historyFolder = '.',
  COMPARISON_GREETING: greeting = '',
  COMPARISON_INSTRUCTIONS: instructions = '',
  COMPARISON_END_OF_TURN: endOfTurn = 'model',
} = process.env;

// The framework loads this file in a separate process and uses its default export.
// biome-ignore lint/style/noDefaultExport: required by the framework
export default defineAgent({
  entry: async (context: JobContext) => {
    const session = new voice.AgentSession({
      // The framework's default. The plugin for Silero's detector waits for 550 ms of silence instead of 250,
      // which is longer than the end-of-turn model wants.
      vad: new inference.VAD({ model: 'silero' }),
      stt: new deepgram.STT({ apiKey: 'stand-in', baseUrl: recogniserUrl }),
      llm: new openai.LLM({ apiKey: 'stand-in', baseURL: engineUrl, model: 'gpt-4.1-mini' }),
      tts: new openai.TTS({ apiKey: 'stand-in', baseURL: engineUrl }),
      turnHandling: {
        turnDetection: endOfTurn === 'speech' ? 'vad' : new inference.TurnDetector({ version: 'v1-mini' }),
      },
    });
    const historyFile = join(historyFolder, `${context.job.room?.name}.json`);
    session.on(voice.AgentSessionEventTypes.Close, () => {
      // Rename after writing: the bench polls for the file and must not read a partial one.
      const said = session.history.items.flatMap((item) =>
        item.type === 'message' && item.role === 'assistant' ? [item.textContent ?? ''] : [],
      );
      writeFileSync(`${historyFile}.part`, JSON.stringify(said));
      renameSync(`${historyFile}.part`, historyFile);
    });
    await session.start({ agent: new voice.Agent({ instructions }), room: context.room });
    await context.connect();
    session.say(greeting);
  },
});

if (process.argv[1] === fileURLToPath(import.meta.url))
  cli.runApp(
    new ServerOptions({
      agent: fileURLToPath(import.meta.url),
      agentName: 'comparison',
      host: '127.0.0.1',
      port: 0,
      // A busy machine can take longer than ten seconds to start a process. The worker does not report the
      // machine's load, because the caller and the engines would count as its own: the server gives no job
      // to a worker on a machine that is fully used, whatever the worker's threshold is.
      initializeProcessTimeout: 60_000,
      loadFunc: async () => 0,
    }),
  );
