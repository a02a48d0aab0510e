/**
 * Health of a process that was started alone: liveness, readiness and metrics on a port of their own, for an
 * orchestrator and for Prometheus. The processes of `npm start` have none, because their supervisor watches
 * them.
 */
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Logger } from '#base/log.ts';
import { hostPort } from '#base/public-address.ts';
import type { Settings } from '#config/env.ts';
import { explainListenError } from './ports.ts';

/** A value read at each scrape. */
export interface Meter {
  /** A name that ends in `_total` makes it a counter: it only grows. */
  readonly name: string;
  readonly help: string;
  readonly read: () => number;
}

/** What a process reports about itself. */
export interface Health {
  /** Why it takes no new work, one short reason each; empty: it is ready. */
  readonly missing: () => readonly string[];
  readonly meters: readonly Meter[];
}

/** A running health server. */
export interface HealthServer {
  /** Base address, for the line that the start prints. */
  readonly url: string;
  close(): Promise<void>;
}

const DEFAULT_PORT = 9_090;

/**
 * Serves `/healthz`, `/readyz` and `/metrics` on `HEALTH_HOST` and `HEALTH_PORT`. Null if the process has a
 * supervisor, or if the port was not chosen and another program has it. Rejects if a chosen address cannot be
 * bound.
 */
export async function serveHealth(
  { HEALTH_HOST, HEALTH_PORT, SUPERVISOR_RUN }: Settings,
  health: Health,
  logger: Logger,
): Promise<HealthServer | null> {
  if (SUPERVISOR_RUN !== undefined) return null;
  const registry = registryOf(health.meters);
  const server = createServer((request, response) => {
    answer(request.url ?? '', { health, registry }, response).catch((error: unknown) => {
      logger.error({ err: error }, 'a health request failed');
      response.destroy();
    });
  });
  const port = HEALTH_PORT ?? DEFAULT_PORT;
  try {
    await listen(server, HEALTH_HOST, port);
  } catch (error) {
    if (HEALTH_PORT !== undefined || (error as NodeJS.ErrnoException).code !== 'EADDRINUSE')
      throw explainListenError(error, { setting: 'HEALTH_HOST, HEALTH_PORT', host: HEALTH_HOST, port });
    // Several workers on one machine: they started before there was this port.
    logger.warn(`port ${port} is taken: no health and metrics of this process. Set HEALTH_PORT, such as 0`);
    return null;
  }
  return {
    url: `http://${hostPort(HEALTH_HOST, (server.address() as AddressInfo).port)}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The line that the start prints. */
export function describeHealth(server: HealthServer | null): string[] {
  return server ? [`Health       ${server.url}/readyz`] : [];
}

async function answer(
  url: string,
  { health, registry }: { readonly health: Health; readonly registry: Registry },
  response: ServerResponse,
): Promise<void> {
  const path = url.split('?', 1)[0];
  if (path === '/healthz') send(response, 200, { status: 'ok' });
  else if (path === '/readyz') {
    const missing = health.missing();
    if (missing.length === 0) send(response, 200, { status: 'ready' });
    else send(response, 503, { status: 'not ready', missing });
  } else if (path === '/metrics') {
    const text = await registry.metrics();
    response.writeHead(200, { 'content-type': registry.contentType }).end(text);
  } else send(response, 404, { status: 'not found' });
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function registryOf(meters: readonly Meter[]): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const { name, help, read } of meters) {
    const about = { name, help, registers: [registry] };
    if (name.endsWith('_total'))
      new Counter({
        ...about,
        collect() {
          this.reset();
          this.inc(read());
        },
      });
    else
      new Gauge({
        ...about,
        collect() {
          this.set(read());
        },
      });
  }
  return registry;
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
