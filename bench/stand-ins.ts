/**
 * The vendors' stand-ins in a process of their own, answering at once, so that what is measured is the
 * product and nobody's event loop is shared.
 */
import { engineSettings, startEngineProcess } from './engine-process.ts';

/** Running stand-ins. */
export interface StandIns {
  /** Settings that point a product at them. */
  readonly environment: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/**
 * What the stand-in for recognition hears in every line: a whole question, so that the turn is taken at once.
 */
export const HEARD_LINE = 'What is the weather like today?';
/** Words of every reply; each is 200 ms of tone, so a reply lasts two seconds. */
export const REPLY = 'Today it is sunny and warm with a light breeze.';

/** Starts the process; resolves once both servers listen. */
export async function startStandIns(): Promise<StandIns> {
  const { urls, close } = await startEngineProcess(new URL('./stand-ins-process.ts', import.meta.url));
  return { environment: engineSettings(urls), close };
}
