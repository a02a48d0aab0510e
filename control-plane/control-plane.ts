/**
 * The control plane as one thing to start and to stop: the server with every route, seeded and listening,
 * over a context the composition root built.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readPem } from '#base/pem.ts';
import { type Seeded, seedDemo, seedOperator } from './operations/seed.ts';
import type { Context } from './platform/context.ts';
import { createServer } from './platform/http/server.ts';
import { registerRoutes } from './routes.ts';
import { compatAnswersOf } from './speech/compat/compat-examples.ts';

/** What the control plane is started with. */
export interface ControlPlaneDeps {
  readonly context: Context;
  /** Told as soon as the port is known, before anything is served through it. */
  onListening(port: number): void;
}

/** A control plane that serves. */
export interface ControlPlane {
  readonly port: number;
  /** The HTTP server, for what upgrades connections on it (the worker link). */
  readonly server: Server;
  /** Answers a request that came by another listener. */
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** The demo agent and the number it answers. */
  readonly seeded: Seeded;
  /** Stops serving; idempotent. */
  close(): Promise<void>;
}

/** Starts serving the API; rejects when the port is taken. */
export async function startControlPlane(deps: ControlPlaneDeps): Promise<ControlPlane> {
  const { settings } = deps.context;
  const app = await createServer(deps.context, {
    compatAnswersOf,
    ...(settings.TLS_CERT !== undefined && settings.TLS_KEY !== undefined
      ? { tls: { cert: readPem('TLS_CERT', settings.TLS_CERT), key: readPem('TLS_KEY', settings.TLS_KEY) } }
      : {}),
  });
  await registerRoutes(app, deps.context);
  await seedOperator(deps.context);
  await app.ready();
  // Describing a hundred routes takes a third of a second, which no call may have to wait for: it is done
  // before there are any.
  app.swagger();
  await app.listen({ host: settings.HOST, port: settings.PORT });
  const { port } = app.server.address() as AddressInfo;
  deps.onListening(port);
  const seeded = await seedDemo(deps.context);
  return {
    port,
    server: app.server,
    handle: (request, response) => app.routing(request, response),
    seeded,
    close: () => app.close(),
  };
}
