/** Entry point of the process of the engines: a counting voice, and a model that always says the sentence. */
import { startDeepgramServer } from '#test/fakes/deepgram-server.ts';
import { say, startOpenaiServer } from '#test/fakes/openai-server.ts';
import type { EngineUrls } from '../engine-process.ts';
import { HEARD_LINE } from '../stand-ins.ts';
import { countingVoice, SENTENCE } from './counting-voice.ts';

const [openai, deepgram] = await Promise.all([
  startOpenaiServer({ chat: [say(SENTENCE)], voice: countingVoice }),
  startDeepgramServer({ lines: [HEARD_LINE] }),
]);
process.on('disconnect', () => process.exit(0));
process.send?.({ openai: openai.url, deepgram: deepgram.url } satisfies EngineUrls);
