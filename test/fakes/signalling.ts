/** The embedded signalling of tests, on free loopback ports, and workers connected to it. */
import { type Clock, systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { openSignalling } from '#telephony/drachtio/drachtio-signalling.ts';
import type { WorkerWatch } from '#telephony/drachtio/worker-probe.ts';
import { type EmbeddedSignalling, startEmbeddedSignalling } from '#telephony/embedded/server.ts';
import type { Signalling } from '#telephony/signalling.ts';

/** Secret shared by test servers and their workers. */
export const SECRET = 'secret';

type Options = Parameters<typeof startEmbeddedSignalling>[0];

const logger = createLogger({ level: 'silent', name: 'test' });

/** Starts a server; by default it routes every call to `worker-1` and uses the system clock. */
export function startTestSignalling(options: Partial<Options> = {}): Promise<EmbeddedSignalling> {
  return startEmbeddedSignalling({
    sipHost: '127.0.0.1',
    sipPort: 0,
    publicIp: undefined,
    appHost: '127.0.0.1',
    appPort: 0,
    secret: SECRET,
    clock: systemClock,
    logger,
    admit: async () => ({ action: 'route', data: { tag: 'worker-1' } }),
    ...options,
  });
}

/** Connects a worker to servers; resolves once the first of them is connected. */
export async function connectTestWorker(
  servers: { readonly appPort: number } | readonly { readonly appPort: number }[],
  tag = 'worker-1',
  clock: Clock = systemClock,
  watch?: WorkerWatch,
): Promise<Signalling> {
  const { signalling, connected } = openSignalling({
    servers: [servers].flat().map(({ appPort }) => ({ host: '127.0.0.1', port: appPort })),
    secret: SECRET,
    tag,
    clock,
    logger,
    watch,
  });
  await connected;
  return signalling;
}
