/**
 * Runs the vendors' stand-ins in a separate process, with immediate answers: measurements cover only the
 * product, and no event loop is shared.
 */
import { engineSettings, startEngineProcess } from './engine-process.ts';

/** Running stand-ins. */
export interface StandIns {
  /** Settings that point a product at these engines. */
  readonly environment: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/** Recognition result for every line: a complete question, so the turn is taken at once. */
export const HEARD_LINE = 'What is the weather like today?';
/** Text of every reply; each word is 200 ms of tone, so a reply lasts two seconds. */
export const REPLY = 'Today it is sunny and warm with a light breeze.';

/** Starts the process; resolves once both servers listen. */
export async function startStandIns(): Promise<StandIns> {
  const { urls, close } = await startEngineProcess(new URL('./stand-ins-process.ts', import.meta.url));
  return { environment: engineSettings(urls), close };
}
