/**
 * Runs a real drachtio-server, if installed, with the configuration of docker-compose.yml: it asks for
 * admission of every INVITE over HTTP before it passes the INVITE to an application.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { systemClock } from '#base/clock.ts';
import { drachtioQuery, readDrachtioQuestion } from '#control-plane/calls/admission/drachtio-question.ts';
import type { AdmissionAnswer, AdmissionRequest } from '#protocol/sip-admission.ts';
import { freeTcpPort } from '../free-port.ts';
import { openRawCaller, type RawCaller } from '../telephony/embedded/raw-caller.ts';

/** The program: `drachtio` on the PATH, or the path in DRACHTIO_SERVER. */
export const DRACHTIO_PROGRAM = process.env['DRACHTIO_SERVER'] ?? 'drachtio';

/** A drachtio-server running on the loopback. */
export interface DrachtioServer {
  readonly sipPort: number;
  /** Port for application connections. */
  readonly appPort: number;
  /** Resolves once a connected application receives requests, which shows when OPTIONS is forwarded. */
  serving(): Promise<void>;
  close(): Promise<void>;
}

const STARTS_WITHIN_MS = 20_000;

/** Settings of a drachtio-server. */
export interface DrachtioOptions {
  readonly secret: string;
  /** Ports of a stopped server to reuse. */
  readonly ports?: { readonly sipPort: number; readonly appPort: number };
  /** The control plane that admits calls: `http://user:<WORKER_TOKEN>@host:port`. */
  readonly controlPlane: string;
}

/** Starts a drachtio-server that asks `admit` instead of a control plane. */
export async function startDrachtioServerAlone(
  options: Omit<DrachtioOptions, 'controlPlane'>,
  admit: (question: AdmissionRequest) => Promise<AdmissionAnswer>,
): Promise<DrachtioServer> {
  const admission = await serveAdmission(admit);
  const server = await startDrachtioServer({
    ...options,
    controlPlane: `http://drachtio:token@127.0.0.1:${(admission.address() as AddressInfo).port}`,
  });
  return {
    ...server,
    async close() {
      await server.close();
      admission.closeAllConnections();
      await new Promise((resolve) => admission.close(resolve));
    },
  };
}

export async function startDrachtioServer(options: DrachtioOptions): Promise<DrachtioServer> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-drachtio-'));
  const { sipPort, appPort } = options.ports ?? {
    sipPort: await freeTcpPort(),
    appPort: await freeTcpPort(),
  };
  const file = join(folder, 'drachtio.conf.xml');
  writeFileSync(file, configuration({ ...options, sipPort, appPort }));
  const child = spawn(DRACHTIO_PROGRAM, ['-f', file], { cwd: folder, stdio: ['ignore', logTo(), logTo()] });
  // Stays open: a server reply to a closed port would make the server's next send fail, whatever its
  // destination (Linux, IP_RECVERR).
  const probe = await openRawCaller(sipPort);
  const server: DrachtioServer = {
    sipPort,
    appPort,
    serving: () => untilAnswered(probe, [200], () => child.exitCode !== null),
    async close() {
      const ended = once(child, 'exit');
      if (child.exitCode === null && child.kill('SIGKILL')) await ended;
      probe.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  try {
    await untilAnswered(probe, [200, 503], () => child.exitCode !== null);
  } catch (error) {
    await server.close();
    throw error;
  }
  return server;
}

/** Shows the server's output on request. */
function logTo(): 'inherit' | 'ignore' {
  return process.env['DRACHTIO_LOG'] === undefined ? 'ignore' : 'inherit';
}

function configuration(of: {
  readonly sipPort: number;
  readonly appPort: number;
  readonly secret: string;
  readonly controlPlane: string;
}): string {
  return `<drachtio>
  <admin port="${of.appPort}" secret="${of.secret}">127.0.0.1</admin>
  <request-handlers>
    <request-handler sip-method="INVITE" http-method="POST">${of.controlPlane}/internal/sip/drachtio</request-handler>
  </request-handlers>
  <sip>
    <contacts><contact>sip:127.0.0.1:${of.sipPort};transport=udp,tcp</contact></contacts>
    <session-timers default-refresher="uac"/>
  </sip>
  <logging><console/><loglevel>${process.env['DRACHTIO_LOG'] ?? 'info'}</loglevel></logging>
</drachtio>
`;
}

/** Parses the admission request as the control plane does. */
async function serveAdmission(
  admit: (question: AdmissionRequest) => Promise<AdmissionAnswer>,
): Promise<Server> {
  const server = createServer((request, response) => {
    answer(request, admit).then(
      (body) => response.setHeader('content-type', 'application/json').end(JSON.stringify(body)),
      () => response.writeHead(500).end(),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

async function answer(
  request: IncomingMessage,
  admit: (question: AdmissionRequest) => Promise<AdmissionAnswer>,
): Promise<AdmissionAnswer> {
  const query = drachtioQuery.parse(
    Object.fromEntries(new URL(request.url ?? '', 'http://localhost').searchParams),
  );
  const question = readDrachtioQuestion(await text(request), query);
  if (!question) throw new Error('not an INVITE');
  return admit(question);
}

/**
 * Sends OPTIONS until it gets one of these answers: the application port opens long before the server speaks
 * SIP and knows which requests its applications take.
 */
async function untilAnswered(
  probe: RawCaller,
  statuses: readonly number[],
  hasEnded: () => boolean,
): Promise<void> {
  const untilMs = systemClock.now() + STARTS_WITHIN_MS;
  const isAnswered = () =>
    probe.heard.some(({ start }) => start.kind === 'response' && statuses.includes(start.status));
  for (let cseq = probe.heard.length + 1; !isAnswered(); cseq++) {
    if (hasEnded() || systemClock.now() > untilMs)
      throw new Error(`${DRACHTIO_PROGRAM} did not start, or its admission does not answer`);
    probe.request({ method: 'OPTIONS', cseq, callId: `probe-${randomUUID()}` });
    await systemClock.sleep(50);
  }
}
