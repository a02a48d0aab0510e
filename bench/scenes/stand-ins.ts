/** Runs the scenes' vendor stand-ins in a separate process. */
import { engineSettings, startEngineProcess } from '../engine-process.ts';
import type { FromStandIns, ToStandIns } from './stand-ins-process.ts';

/** Running stand-ins. */
export interface SceneStandIns {
  /** Settings that point a product at these engines. */
  readonly environment: Readonly<Record<string, string>>;
  /** Every text the voice received. */
  readonly spoken: ReadonlySet<string>;
  /** Passes the recogniser the words about to be spoken. */
  hear(message: ToStandIns): void;
  close(): Promise<void>;
}

/** Starts the process; resolves once its servers listen. */
export async function startSceneStandIns(): Promise<SceneStandIns> {
  const { urls, child, close } = await startEngineProcess(new URL('./stand-ins-process.ts', import.meta.url));
  const spoken = new Set<string>();
  child.on('message', (message: FromStandIns) => {
    if ('spoken' in message) spoken.add(message.spoken);
  });
  return { environment: engineSettings(urls), spoken, hear: (message) => void child.send(message), close };
}
