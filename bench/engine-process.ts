/**
 * Runs stand-in engines in a forked process, to keep them off the bench's event loop. The first message of
 * the process contains their addresses.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

/** Addresses of the stand-ins. */
export interface EngineUrls {
  readonly openai: string;
  readonly deepgram: string;
}

/** A running process. */
export interface EngineProcess {
  readonly urls: EngineUrls;
  readonly child: ChildProcess;
  close(): Promise<void>;
}

/** Starts a process with this entry file; resolves once its servers listen. */
export async function startEngineProcess(entry: URL): Promise<EngineProcess> {
  const child = fork(entry, [], { execArgv: [] });
  const [urls] = (await once(child, 'message')) as [EngineUrls];
  return {
    urls,
    child,
    async close() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.disconnect();
      await ended;
    },
  };
}

/** Settings that point a product at these engines. */
export function engineSettings(urls: EngineUrls): Readonly<Record<string, string>> {
  return {
    OPENAI_BASE_URL: urls.openai,
    DEEPGRAM_BASE_URL: urls.deepgram,
    TTS_PROVIDER: 'openai',
    ASR_PROVIDER: 'deepgram',
    LLM_DEFAULT: 'openai/gpt-4.1-mini',
  };
}
