/** The vendors' stand-ins in a process of their own, answering at once, so that what is measured is the product and nobody's event loop is shared. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { StandInUrls } from './stand-ins-process.ts';

/** Running stand-ins. */
export interface StandIns {
  /** Settings that point a product at them. */
  readonly environment: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/** What the stand-in for recognition hears in every line: a whole question, so that the turn is taken at once. */
export const HEARD_LINE = 'What is the weather like today?';
/** Words of every reply; each is 200 ms of tone, so a reply lasts two seconds. */
export const REPLY = 'Today it is sunny and warm with a light breeze.';

/** Starts the process; resolves once both servers listen. */
export async function startStandIns(): Promise<StandIns> {
  const child = fork(new URL('./stand-ins-process.ts', import.meta.url), [], { execArgv: [] });
  const [urls] = (await once(child, 'message')) as [StandInUrls];
  return {
    environment: {
      OPENAI_BASE_URL: urls.openai,
      DEEPGRAM_BASE_URL: urls.deepgram,
      TTS_PROVIDER: 'openai',
      ASR_PROVIDER: 'deepgram',
      LLM_DEFAULT: 'openai/gpt-4.1-mini',
    },
    async close() {
      const ended = once(child, 'exit');
      child.disconnect();
      await ended;
    },
  };
}
