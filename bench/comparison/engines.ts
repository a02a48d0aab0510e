/**
 * One side's stand-in engines, in their own process so that the sides do not share them, and the faults to
 * inject into them.
 */
import type { OpenaiFault } from '#test/fakes/openai-server.ts';
import { type EngineUrls, startEngineProcess } from '../engine-process.ts';
import type { Cue } from './recogniser.ts';

/** A fault of an engine. */
export interface EngineFault {
  readonly name: string;
  readonly openai?: OpenaiFault;
  readonly recogniser?: 'mute' | 'cut';
}

/** Message to the process. `cue` without a call is for every call. */
export type EngineOrder =
  | { readonly expect: string; readonly voicedRms?: number }
  | { readonly call: string | null; readonly cue: Cue }
  | { readonly fault: EngineFault | null }
  | { readonly count: 'unheard' };

/**
 * Message of the process: this call's agent has connected to the recogniser; how many lines it has not heard.
 */
export type EngineNews = { readonly connected: string } | { readonly unheard: number };

/** Running engines. */
export interface Engines {
  readonly urls: EngineUrls;
  order(order: EngineOrder): void;
  /**
   * Announces a call; resolves when its agent has connected to the recogniser. Sounds softer than `voicedRms`
   * are not its caller's voice.
   */
  expect(call: string, voicedRms?: number): Promise<void>;
  /** Number of lines so far whose voice did not reach the recogniser. */
  countUnheard(): Promise<number>;
  close(): Promise<void>;
}

/** Every fault in the comparison. */
export const FAULTS: readonly EngineFault[] = [
  { name: 'language model answers 500', openai: { status: 500, path: '/chat/completions' } },
  {
    name: 'language model accepts and says nothing',
    openai: { halfOpen: 'headers', path: '/chat/completions' },
  },
  { name: 'voice answers 500', openai: { status: 500, path: '/audio/speech' } },
  { name: 'recogniser’s socket is cut', recogniser: 'cut' },
  { name: 'recogniser takes audio and says nothing', recogniser: 'mute' },
];

/**
 * Starts the engines, and then an agent that uses them. The engines end with the agent, and when it does not
 * start.
 */
export async function startWithEngines<Agent extends { close(): Promise<void> }>(
  start: (urls: EngineUrls) => Promise<Agent>,
): Promise<Agent & { readonly engines: Engines }> {
  const engines = await startEngines();
  try {
    const agent = await start(engines.urls);
    return {
      ...agent,
      engines,
      async close() {
        await agent.close();
        await engines.close();
      },
    };
  } catch (error) {
    await engines.close();
    throw error;
  }
}

/** Starts the engines; resolves once all of them listen. */
async function startEngines(): Promise<Engines> {
  const { urls, child, close } = await startEngineProcess(new URL('./engines-process.ts', import.meta.url));
  const waiting = new Map<string, () => void>();
  child.on('message', (news: EngineNews) => {
    if (!('connected' in news)) return;
    waiting.get(news.connected)?.();
    waiting.delete(news.connected);
  });
  const order = (given: EngineOrder) => void child.send(given);
  return {
    urls,
    order,
    expect: (call, voicedRms) =>
      new Promise((resolve) => {
        waiting.set(call, resolve);
        order({ expect: call, ...(voicedRms === undefined ? {} : { voicedRms }) });
      }),
    countUnheard: () =>
      new Promise((resolve) => {
        const take = (news: EngineNews) => {
          if (!('unheard' in news)) return;
          child.off('message', take);
          resolve(news.unheard);
        };
        child.on('message', take);
        order({ count: 'unheard' });
      }),
    close,
  };
}
