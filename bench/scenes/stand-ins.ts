/** The scenes' vendors in a process of their own. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { FromStandIns, ToStandIns } from './stand-ins-process.ts';

/** Running stand-ins. */
export interface SceneStandIns {
  /** Settings that point a product at them. */
  readonly environment: Readonly<Record<string, string>>;
  /** Every text the voice was given. */
  readonly spoken: ReadonlySet<string>;
  /** Tells the recogniser what is about to be said. */
  hear(message: ToStandIns): void;
  close(): Promise<void>;
}

/** Starts the process; resolves once its servers listen. */
export async function startSceneStandIns(): Promise<SceneStandIns> {
  const child = fork(new URL('./stand-ins-process.ts', import.meta.url), [], { execArgv: [] });
  const spoken = new Set<string>();
  const [urls] = (await once(child, 'message')) as [Extract<FromStandIns, { openai: string }>];
  child.on('message', (message: FromStandIns) => {
    if ('spoken' in message) spoken.add(message.spoken);
  });
  return {
    environment: {
      OPENAI_BASE_URL: urls.openai,
      DEEPGRAM_BASE_URL: urls.deepgram,
      TTS_PROVIDER: 'openai',
      ASR_PROVIDER: 'deepgram',
      LLM_DEFAULT: 'openai/gpt-4.1-mini',
    },
    spoken,
    hear: (message) => void child.send(message),
    async close() {
      const ended = once(child, 'exit');
      child.disconnect();
      await ended;
    },
  };
}
