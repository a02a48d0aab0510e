/** Whether a server accepts connections. */
import { connect } from 'node:net';

/** False if it refuses, or does not accept within `withinMs`. */
export function accepts(
  { host, port }: { readonly host: string; readonly port: number },
  withinMs: number,
): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect({ host, port, timeout: withinMs });
    const answer = (isThere: boolean) => () => {
      probe.destroy();
      resolve(isThere);
    };
    probe.once('connect', answer(true)).once('error', answer(false)).once('timeout', answer(false));
  });
}
