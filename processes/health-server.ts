/**
 * Health of a process that was started alone: liveness, readiness and metrics on a port of their own, for an
 * orchestrator and for Prometheus. The processes of `npm start` have none, because their supervisor watches
 * them.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock, Timer } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import type { Meters } from '#base/meters.ts';
import { createServer } from '#base/node-http.ts';
import { hostPort } from '#base/public-address.ts';
import type { Settings } from '#config/env.ts';
import { explainListenError } from './ports.ts';

/** Readiness and metrics of a process. */
export interface Health {
  /** Why it takes no new work, one short reason each; empty: it is ready. */
  readonly missing: () => readonly string[];
  readonly meters: Meters;
}

/** The health port of a process. */
export interface HealthPort {
  /** Base address; null while another program has the port. */
  readonly url: string | null;
  /** Reports this from now on; before, the process is alive and starting. Call it once. */
  serve(health: Health): void;
  close(): Promise<void>;
}

const DEFAULT_PORT = 9_090;
/** A successor starts while its predecessor still has the port. */
const RETRY_MS = 2_000;

/**
 * Serves `/healthz`, `/readyz` and `/metrics` on `HEALTH_HOST` and `HEALTH_PORT`, or as soon as the port is
 * free: no call is refused for want of it. Null if the process has a supervisor. Rejects if the address
 * cannot be bound for another reason.
 */
export async function openHealthPort(
  { HEALTH_HOST: host, HEALTH_PORT: port = DEFAULT_PORT, SUPERVISOR_RUN }: Settings,
  clock: Pick<Clock, 'every'>,
  logger: Logger,
): Promise<HealthPort | null> {
  if (SUPERVISOR_RUN !== undefined) return null;
  // A process without this port does without the library.
  const { Meters: StartingMeters } = await import('#base/meters.ts');
  let health: Health = { missing: () => ['starting'], meters: new StartingMeters() };
  const server = createServer((request, response) => {
    answer(request, health, response).catch((error: unknown) => {
      logger.error({ err: error }, 'a health request failed');
      response.destroy();
    });
  });
  let retry: Timer | null = null;
  if (!(await listens(server, host, port))) {
    logger.warn(`port ${port} is taken: no health and metrics until it is free. HEALTH_PORT sets another`);
    retry = clock.every(RETRY_MS, () => {
      listens(server, host, port).then(
        (isListening) => {
          if (isListening) retry?.cancel();
        },
        (error: unknown) => logger.error({ err: error }, 'no health and metrics'),
      );
    });
  }
  return {
    get url() {
      const bound = server.address() as AddressInfo | null;
      return bound && `http://${hostPort(host, bound.port)}`;
    },
    serve(next) {
      health = next;
    },
    close: () =>
      new Promise((resolve) => {
        retry?.cancel();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The line that the start prints. */
export function describeHealth(port: HealthPort | null): string[] {
  return port?.url ? [`Health       ${port.url}/readyz`] : [];
}

async function answer(
  { url = '', headers }: IncomingMessage,
  health: Health,
  response: ServerResponse,
): Promise<void> {
  const path = url.split('?', 1)[0];
  if (path === '/healthz') send(response, 200, { status: 'ok' });
  else if (path === '/readyz') {
    const missing = health.missing();
    if (missing.length === 0) send(response, 200, { status: 'ready' });
    else send(response, 503, { status: 'not ready', missing });
  } else if (path === '/metrics') {
    const { contentType, body } = await health.meters.scrape(headers.accept);
    response.writeHead(200, { 'content-type': contentType }).end(body);
  } else send(response, 404, { status: 'not found' });
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** False if another program has the port. */
async function listens(server: Server, host: string, port: number): Promise<boolean> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, () => {
        server.off('error', reject);
        resolve();
      });
    });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false;
    throw explainListenError(error, { setting: 'HEALTH_HOST, HEALTH_PORT', host, port });
  }
}
