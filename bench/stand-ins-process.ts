/**
 * Entry point of the process that `stand-ins.ts` starts: an OpenAI-compatible server for chat and speech, and
 * Deepgram's live recognition.
 */
import { startDeepgramServer } from '#test/fakes/deepgram-server.ts';
import { say, startOpenaiServer } from '#test/fakes/openai-server.ts';
import type { EngineUrls } from './engine-process.ts';
import { HEARD_LINE, REPLY } from './stand-ins.ts';

const [openai, deepgram] = await Promise.all([
  startOpenaiServer({ chat: [say(REPLY)] }),
  startDeepgramServer({ lines: [HEARD_LINE] }),
]);
process.on('disconnect', () => process.exit(0));
process.send?.({ openai: openai.url, deepgram: deepgram.url } satisfies EngineUrls);
