/**
 * Entry point of the process that `engines.ts` starts: one side's stand-in engines, with the delays of real
 * ones.
 */
import { say, startOpenaiServer } from '#test/fakes/openai-server.ts';
import type { EngineUrls } from '../engine-process.ts';
import type { EngineNews, EngineOrder } from './engines.ts';
import { startCuedRecogniser } from './recogniser.ts';
import { replyTo, WORD_MS } from './script.ts';

const FIRST_BYTE_MS = 150;
const PIECE_MS = 15;
const RECOGNITION_MS = 150;

const openai = await startOpenaiServer({
  chat: ({ messages }) =>
    say(replyTo(JSON.stringify(messages.findLast(({ role }) => role === 'user')?.content ?? ''))),
  wordMs: WORD_MS,
  firstByteMs: FIRST_BYTE_MS,
  pieceMs: PIECE_MS,
});
const recogniser = await startCuedRecogniser({
  delayMs: RECOGNITION_MS,
  onConnected: (call) => void process.send?.({ connected: call } satisfies EngineNews),
});
process.on('message', (order: EngineOrder) => {
  if ('count' in order) void process.send?.({ unheard: recogniser.unheard } satisfies EngineNews);
  else if ('expect' in order) recogniser.expect(order.expect, order.voicedRms);
  else if ('cue' in order) recogniser.cue(order.call, order.cue);
  else {
    openai.fault = order.fault?.openai ?? null;
    recogniser.isMute = order.fault?.recogniser === 'mute';
    if (order.fault?.recogniser === 'cut') recogniser.cut();
  }
});
process.on('disconnect', () => process.exit(0));
process.send?.({ openai: openai.url, deepgram: recogniser.url } satisfies EngineUrls);
