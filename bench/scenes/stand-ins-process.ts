/**
 * Entry point of the process that `stand-ins.ts` starts: a recogniser that follows the scenes' scripts, a
 * model that says what its prompt specifies, and a real voice.
 */
import { say, startOpenaiServer } from '#test/fakes/openai-server.ts';
import type { EngineUrls } from '../engine-process.ts';
import { FIRST_TOKEN_MS, REPLY_MARK } from './catalogue.ts';
import { type ScriptedWord, startScriptRecogniser } from './script-recogniser.ts';
import { voicePiece } from './voice.ts';

/** Messages to the parent: first the addresses, then each text the voice receives. */
export type FromStandIns = EngineUrls | { readonly spoken: string };
/** The words the caller is about to speak. */
export interface ToStandIns {
  readonly call: string;
  readonly words: readonly ScriptedWord[];
}

const notifyParent = (message: FromStandIns) => void process.send?.(message);
const [openai, deepgram] = await Promise.all([
  startOpenaiServer({
    chat: ({ messages }) => say(replyIn(messages.find(({ role }) => role === 'system')?.content)),
    chatFirstByteMs: FIRST_TOKEN_MS,
    voice: (text) => {
      notifyParent({ spoken: text });
      return voicePiece(text).samples;
    },
  }),
  startScriptRecogniser(),
]);
process.on('message', ({ call, words }: ToStandIns) => deepgram.hear(call, words));
process.on('disconnect', () => process.exit(0));
notifyParent({ openai: openai.url, deepgram: deepgram.url });

function replyIn(prompt: unknown): string {
  const text = typeof prompt === 'string' ? prompt : JSON.stringify(prompt ?? '');
  return text.split(REPLY_MARK)[1] ?? 'OK.';
}
