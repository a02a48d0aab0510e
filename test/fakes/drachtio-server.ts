/** Runs a real drachtio-server, where the machine has one, with the configuration of docker-compose.yml: it asks about every INVITE over HTTP before it hands it to an application. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { systemClock } from '#config/clock.ts';
import type { AdmissionAnswer, AdmissionRequest } from '#config/sip-admission.ts';
import { drachtioQuery, readDrachtioQuestion } from '#control-plane/calls/drachtio-question.ts';
import { freeUdpPort } from '../free-port.ts';

/** The program: `drachtio` on the PATH, or wherever DRACHTIO_SERVER says. */
export const DRACHTIO_PROGRAM = process.env['DRACHTIO_SERVER'] ?? 'drachtio';

/** A running one on the loopback. */
export interface DrachtioServer {
  readonly sipPort: number;
  /** Where applications connect. */
  readonly appPort: number;
  close(): Promise<void>;
}

const STARTS_WITHIN_MS = 20_000;

/** Starts one; `ports` are those of another one that is gone. */
export async function startDrachtioServer(options: {
  readonly secret: string;
  readonly ports?: { readonly sipPort: number; readonly appPort: number };
  admit(question: AdmissionRequest): Promise<AdmissionAnswer>;
}): Promise<DrachtioServer> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-drachtio-'));
  const { sipPort, appPort } = options.ports ?? { sipPort: await freeUdpPort(), appPort: await freeTcpPort() };
  const admission = await serveAdmission(options.admit);
  const file = join(folder, 'drachtio.conf.xml');
  writeFileSync(file, configuration({ sipPort, appPort, secret: options.secret, admissionPort: (admission.address() as AddressInfo).port }));
  const child = spawn(DRACHTIO_PROGRAM, ['-f', file], { cwd: folder, stdio: ['ignore', logTo(), 'inherit'] });
  const server: DrachtioServer = {
    sipPort,
    appPort,
    async close() {
      const ended = once(child, 'exit');
      if (child.exitCode === null && child.kill('SIGKILL')) await ended;
      admission.closeAllConnections();
      await new Promise((resolve) => admission.close(resolve));
      rmSync(folder, { recursive: true, force: true });
    },
  };
  const untilMs = systemClock.now() + STARTS_WITHIN_MS;
  while (!(await isOpen(appPort))) {
    if (child.exitCode !== null || systemClock.now() > untilMs) {
      await server.close();
      throw new Error(`${DRACHTIO_PROGRAM} did not start`);
    }
    await systemClock.sleep(50);
  }
  return server;
}

/** Its words, where somebody wants to read them. */
function logTo(): 'inherit' | 'ignore' {
  return process.env['DRACHTIO_LOG'] === undefined ? 'ignore' : 'inherit';
}

function configuration(of: { readonly sipPort: number; readonly appPort: number; readonly secret: string; readonly admissionPort: number }): string {
  return `<drachtio>
  <admin port="${of.appPort}" secret="${of.secret}">127.0.0.1</admin>
  <request-handlers>
    <request-handler sip-method="INVITE" http-method="POST">http://drachtio:token@127.0.0.1:${of.admissionPort}/internal/sip/drachtio</request-handler>
  </request-handlers>
  <sip>
    <contacts><contact>sip:127.0.0.1:${of.sipPort};transport=udp,tcp</contact></contacts>
    <session-timers default-refresher="uac"/>
  </sip>
  <logging><console/><loglevel>${process.env['DRACHTIO_LOG'] ?? 'info'}</loglevel></logging>
</drachtio>
`;
}

/** Reads the question as the control plane does. */
async function serveAdmission(admit: (question: AdmissionRequest) => Promise<AdmissionAnswer>): Promise<Server> {
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

async function answer(request: IncomingMessage, admit: (question: AdmissionRequest) => Promise<AdmissionAnswer>): Promise<AdmissionAnswer> {
  const query = drachtioQuery.parse(Object.fromEntries(new URL(request.url ?? '', 'http://localhost').searchParams));
  const question = readDrachtioQuestion(await text(request), query);
  if (!question) throw new Error('not an INVITE');
  return admit(question);
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });
}

async function freeTcpPort(): Promise<number> {
  const server = createTcpServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
