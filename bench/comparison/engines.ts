/**
 * One side's stand-in engines, in their own process so that the two sides do not share them, and the faults
 * to inject into them.
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

/** Message to the process. */
export type EngineOrder = { readonly cue: Cue } | { readonly fault: EngineFault | null };

/** Running engines. */
export interface Engines {
  readonly urls: EngineUrls;
  order(order: EngineOrder): void;
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

/** Starts the engines; resolves once all of them listen. */
export async function startEngines(): Promise<Engines> {
  const { urls, child, close } = await startEngineProcess(new URL('./engines-process.ts', import.meta.url));
  return { urls, order: (order) => void child.send(order), close };
}
