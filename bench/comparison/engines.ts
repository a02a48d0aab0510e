/**
 * One side's stand-in engines in a process of their own, so that neither side shares them, and how they are
 * broken.
 */
import type { OpenaiFault } from '#test/fakes/openai-server.ts';
import { type EngineUrls, startEngineProcess } from '../engine-process.ts';
import type { Cue } from './recogniser.ts';

/** A way for an engine to fail. */
export interface EngineFault {
  readonly name: string;
  readonly openai?: OpenaiFault;
  readonly recogniser?: 'mute' | 'cut';
}

/** What the process is told. */
export type EngineOrder = { readonly cue: Cue } | { readonly fault: EngineFault | null };

/** Running engines. */
export interface Engines {
  readonly urls: EngineUrls;
  order(order: EngineOrder): void;
  close(): Promise<void>;
}

/** Every way to fail that is compared. */
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

/** Starts them; resolves once all listen. */
export async function startEngines(): Promise<Engines> {
  const { urls, child, close } = await startEngineProcess(new URL('./engines-process.ts', import.meta.url));
  return { urls, order: (order) => void child.send(order), close };
}
