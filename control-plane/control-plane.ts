/**
 * Starts and stops the control plane as a whole: the server with all routes, seeded and listening, on a
 * context built by the composition root.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readPem } from '#base/pem.ts';
import { type DemoFacts, seedDemo, seedOperator } from './operations/seed.ts';
import type { Context } from './platform/context.ts';
import { createServer } from './platform/http/server.ts';
import { registerRoutes } from './routes.ts';
import { compatAnswersOf } from './speech/compat/compat-examples.ts';

/** A running control plane. */
export interface ControlPlane {
  readonly port: number;
  /** The HTTP server, used by the worker link for WebSocket upgrades. */
  readonly server: Server;
  /** Handles a request received on another listener. */
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** The demo agent and its phone number. */
  readonly seeded: DemoFacts;
  /** Stops serving; idempotent. */
  close(): Promise<void>;
}

/** Starts serving the API; rejects when the port is taken. */
export async function startControlPlane(context: Context): Promise<ControlPlane> {
  const { settings } = context;
  const app = await createServer(context, {
    compatAnswersOf,
    ...(settings.TLS_CERT !== undefined && settings.TLS_KEY !== undefined
      ? { tls: { cert: readPem('TLS_CERT', settings.TLS_CERT), key: readPem('TLS_KEY', settings.TLS_KEY) } }
      : {}),
  });
  await registerRoutes(app, context);
  await seedOperator(context);
  await app.ready();
  await app.listen({ host: settings.HOST, port: settings.PORT });
  const { port } = app.server.address() as AddressInfo;
  context.publicAddress.listensOn(port);
  const seeded = await seedDemo(context);
  return {
    port,
    server: app.server,
    handle: (request, response) => app.routing(request, response),
    seeded,
    close: () => app.close(),
  };
}
