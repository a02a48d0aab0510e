/** The scenes' vendors in a process of their own. */
import { engineSettings, startEngineProcess } from '../engine-process.ts';
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
  const { urls, child, close } = await startEngineProcess(new URL('./stand-ins-process.ts', import.meta.url));
  const spoken = new Set<string>();
  child.on('message', (message: FromStandIns) => {
    if ('spoken' in message) spoken.add(message.spoken);
  });
  return { environment: engineSettings(urls), spoken, hear: (message) => void child.send(message), close };
}
