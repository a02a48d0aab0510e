/**
 * `npm start`: the whole product on one machine. Locks DATA_DIR, chooses ports, starts the processes under
 * the supervisor and prints where everything is.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { systemClock } from '#base/clock.ts';
import { lockDataDir } from '#base/data-dir-lock.ts';
import { collectStartGarbage } from '#base/garbage.ts';
import { createLogger, type Logger } from '#base/log.ts';
import { allocatorEnvironment } from '#base/platform.ts';
import { hostPort } from '#base/public-address.ts';
import { loadCredentials } from '#config/credentials.ts';
import { publicUrl, type Settings, signallingServers } from '#config/env.ts';
import { onStopSignal } from './child-process.ts';
import { freePort, requireListenable } from './ports.ts';
import { Supervisor } from './supervisor.ts';
import { WITHHELD_SETTINGS } from './withheld-settings.ts';

/**
 * The smallest range that settings may specify (config/env.ts), so that each slice is valid too; one more for
 * an odd first port.
 */
const MIN_PORTS_OF_A_WORKER = 12;

/**
 * Initial heap sizes. V8 by default lets a small heap grow by 10 MB before the next full collection, less
 * than the young generation alone, so that one full collection would follow the other: every 3 to 5 s in a
 * worker with twelve calls, each a pause of all of them, and once a second or two in a control plane with
 * sixty. With these sizes, in MB, there is one in minutes.
 *
 * The young generation is limited below V8's 128 MB: it is collected only when full, and a worker's keeps
 * alive until then all audio whose views are in it. `start:worker` and `start:control-plane` in package.json
 * set the same.
 */
const WORKER_OPTIONS = ['--initial-old-space-size=256', '--max-semi-space-size=8'];
const CONTROL_PLANE_OPTIONS = ['--initial-old-space-size=256', '--max-semi-space-size=16'];

/** Facts the processes report when they are ready; printed for people. */
interface StartFacts {
  port: number;
  sipPort: number | null;
  demoNumber: string | null;
  languageModels: readonly string[];
  engines: readonly string[];
}

/** Starts everything; returns once the processes are being started. Ends this process after a stop. */
export async function startAll(settings: Settings): Promise<void> {
  const startedMs = systemClock.now();
  lockDataDir(settings.DATA_DIR);
  const logger = createLogger({ level: settings.LOG_LEVEL, format: settings.LOG_FORMAT, name: 'supervisor' });
  const credentials = loadCredentials(settings);
  const { port, usesEmbeddedSignalling, sipPort, sipTlsPort, drachtio } = await takePorts(settings);
  const workers = countWorkers(settings);
  // With TLS, processes on this machine use plain HTTP to the control plane: its certificate names the public
  // host, not the loopback address.
  const internalPort = settings.TLS_CERT === undefined ? null : await freePort('127.0.0.1');
  const controlPlaneUrl =
    internalPort === null ? httpUrl(reachable(settings.HOST), port) : httpUrl('127.0.0.1', internalPort);
  const shared = {
    DATA_DIR: settings.DATA_DIR,
    PORT: String(port),
    SIP_PORT: String(sipPort),
    SIP_TLS_PORT: String(sipTlsPort),
    SUPERVISOR_RUN: randomUUID(),
    WORKER_TOKEN: credentials.workerToken,
    CONTROL_PLANE_URL: settings.CONTROL_PLANE_URL ?? controlPlaneUrl,
    DRACHTIO_HOST: drachtio.host,
    DRACHTIO_PORT: String(drachtio.port),
    DRACHTIO_SECRET: drachtio.secret,
  };

  const supervisor = createSupervisor(settings, {
    logger,
    started: {
      port,
      sipPort: usesEmbeddedSignalling ? sipPort : null,
      demoNumber: null,
      languageModels: [],
      engines: [],
    },
    waitingFor: new Set([
      'control-plane',
      ...(usesEmbeddedSignalling ? ['signalling'] : []),
      ...range(workers).map((index) => `worker-${index}`),
    ]),
    credentialsFile: credentials.file,
    startedMs,
  });

  const internal = {
    ...(internalPort === null ? {} : { INTERNAL_PORT: String(internalPort) }),
    // Unset, it says that SIP_HOST and SIP_PORT are where calls arrive.
    DRACHTIO_HOST: settings.DRACHTIO_HOST ?? '',
  };
  const controlPlane = { role: 'control-plane', nodeOptions: CONTROL_PLANE_OPTIONS } as const;
  supervisor.start({
    name: 'control-plane',
    ...controlPlane,
    environment: () => ({ ...shared, ...internal }),
  });
  if (usesEmbeddedSignalling)
    supervisor.start({
      name: 'signalling',
      role: 'signalling',
      environment: () => ({ ...shared, ...WITHHELD }),
    });
  for (const index of range(workers)) {
    const own = workerEnvironment(settings, index, workers);
    const worker = { name: `worker-${index}`, role: 'worker', nodeOptions: WORKER_OPTIONS } as const;
    supervisor.start({
      ...worker,
      environment: (instanceId) => ({ ...shared, ...own, WORKER_INSTANCE: instanceId }),
    });
  }
}

/**
 * Creates the supervisor. It announces the start once all processes in `waitingFor` are ready, and stops them
 * on a stop signal.
 */
function createSupervisor(
  settings: Settings,
  {
    logger,
    started,
    waitingFor,
    credentialsFile,
    startedMs,
  }: {
    readonly logger: Logger;
    readonly started: StartFacts;
    readonly waitingFor: Set<string>;
    readonly credentialsFile: string;
    readonly startedMs: number;
  },
): Supervisor {
  const supervisor = new Supervisor({
    clock: systemClock,
    logger,
    program: new URL('../main.ts', import.meta.url).pathname,
    baseEnvironment: { ...allocatorEnvironment, ...process.env },
    onReady: ({ name, facts }) => {
      if (waitingFor.has(name)) showProgress(name, startedMs);
      if (typeof facts['demoNumber'] === 'string') started.demoNumber = facts['demoNumber'];
      if (Array.isArray(facts['languageModels']))
        started.languageModels = facts['languageModels'].map(String);
      if (Array.isArray(facts['engines'])) started.engines = facts['engines'].map(String);
      if (!waitingFor.delete(name) || waitingFor.size > 0) return;
      announce(settings, started, { credentialsFile, startedMs });
      // No call passes through this process.
      collectStartGarbage();
    },
    onStartFailed: (name) => {
      console.error(`${name} could not start; see the lines above`);
      supervisor.kill();
      process.exit(1);
    },
  });
  onStopSignal({
    first: () => {
      supervisor.stop(settings.DRAIN_SECONDS * 1000).then(
        () => process.exit(0),
        () => process.exit(1),
      );
    },
    second: () => {
      supervisor.kill();
      process.exit(1);
    },
  });
  return supervisor;
}

/** Addresses of the product for the outside and for its own processes. */
async function takePorts(settings: Settings) {
  const port = await ownPort(settings.PORT, { setting: 'HOST, PORT', host: settings.HOST, isUdpToo: false });
  const usesEmbeddedSignalling = signallingServers(settings).length === 0;
  const sip = { host: settings.SIP_HOST, isUdpToo: true };
  const sipPort = usesEmbeddedSignalling
    ? await ownPort(settings.SIP_PORT, { ...sip, setting: 'SIP_HOST, SIP_PORT' })
    : settings.SIP_PORT;
  const usesSipTls = usesEmbeddedSignalling && settings.SIP_TLS_CERT !== undefined;
  const sipTlsPort = usesSipTls
    ? await ownPort(settings.SIP_TLS_PORT, { ...sip, setting: 'SIP_HOST, SIP_TLS_PORT', isUdpToo: false })
    : settings.SIP_TLS_PORT;
  const drachtio = {
    host: settings.DRACHTIO_HOST ?? '127.0.0.1',
    port: usesEmbeddedSignalling ? await freePort('127.0.0.1') : settings.DRACHTIO_PORT,
    secret: usesEmbeddedSignalling ? randomBytes(16).toString('hex') : settings.DRACHTIO_SECRET,
  };
  return { port, usesEmbeddedSignalling, sipPort, sipTlsPort, drachtio };
}

/** Tells a person at a terminal that the start is under way; other readers wait for the table. */
function showProgress(name: string, startedMs: number): void {
  if (process.stdout.isTTY) console.log(`${name} is ready after ${seconds(systemClock.now() - startedMs)} s`);
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1);
}

/** Where the operator finds the key of the console: the command that prints it. */
function keyLine({ ROOT_API_KEY }: Settings, credentialsFile: string): string {
  if (ROOT_API_KEY !== undefined) return 'the value of ROOT_API_KEY';
  const path = resolve(credentialsFile).replaceAll('\\', '/');
  return `node -p "require('${path}').root_api_key" prints it`;
}

function announce(
  settings: Settings,
  started: StartFacts,
  start: { readonly credentialsFile: string; readonly startedMs: number },
): void {
  const url = publicUrl(settings, started.port);
  const number = started.demoNumber;
  console.log(`Talk to it   ${url}/`);
  console.log(`Console      ${url}/console`);
  console.log(`API docs     ${url}/docs`);
  console.log(`API key      ${keyLine(settings, start.credentialsFile)}`);
  if (number !== null && started.sipPort !== null) {
    const uri = `sip:${number}@${hostPort(reachable(settings.SIP_HOST), started.sipPort)}`;
    console.log(`Dial         ${uri} (UDP or TCP; the demo agent answers)`);
    // A fresh baresip has no account, and does not dial without one.
    console.log(`baresip      baresip -e "/uanew <sip:me@127.0.0.1>;regint=0" -e "/dial ${uri}"`);
    // A fresh linphonec lacks its data directory, and cannot share our port.
    const commands = `echo ports sip ${started.sipPort + 10}; echo call ${uri}; cat`;
    console.log(`Linphone     mkdir -p ~/.local/share/linphone; (${commands}) | linphonec`);
  }
  for (const line of [...started.languageModels, ...started.engines]) console.log(`Engines      ${line}`);
  console.log(`Started in   ${seconds(systemClock.now() - start.startedMs)} s`);
  console.log(`ready ${JSON.stringify({ port: started.port, sipPort: started.sipPort, number })}`);
}

/** An empty setting counts as unset. */
const WITHHELD = Object.fromEntries(WITHHELD_SETTINGS.map((name) => [name, '']));

/** One worker per core but one, and none without RTP ports. */
function countWorkers(settings: Settings): number {
  const ports = settings.RTP_PORT_MAX - settings.RTP_PORT_MIN + 1;
  return Math.max(1, Math.min(availableParallelism() - 1, Math.floor(ports / MIN_PORTS_OF_A_WORKER)));
}

/** An address of this machine that reaches a listener on `host`. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}

function httpUrl(host: string, port: number): string {
  return `http://${hostPort(host, port)}`;
}

/**
 * With two or more workers, web and phone calls are separated: a web call that blocks or crashes its worker
 * must not affect phone calls.
 */
function workerKinds(index: number, workers: number): string {
  if (workers === 1) return 'phone,web,analysis';
  return index === 0 ? 'web,analysis' : 'phone,analysis';
}

/** Environment of one worker in addition to that of all processes. */
function workerEnvironment(settings: Settings, index: number, workers: number): Record<string, string> {
  const kinds = { WORKER_KINDS: workerKinds(index, workers) };
  return { ...WITHHELD, SIP_TLS_KEY: '', SIP_TLS_CERT: '', ...rtpSlice(settings, index, workers), ...kinds };
}

/** Its own slice of the RTP ports, starting at an even one (RFC 3550 §11). */
function rtpSlice(
  settings: Settings,
  index: number,
  workers: number,
): { RTP_PORT_MIN: string; RTP_PORT_MAX: string } {
  const size = Math.floor((settings.RTP_PORT_MAX - settings.RTP_PORT_MIN + 1) / workers / 2) * 2;
  const first = settings.RTP_PORT_MIN + (settings.RTP_PORT_MIN % 2) + index * size;
  return {
    RTP_PORT_MIN: String(first),
    RTP_PORT_MAX: String(Math.min(first + size - 1, settings.RTP_PORT_MAX)),
  };
}

/** The settings of a port, its address, and whether UDP is used as well. */
interface PortSetting {
  readonly setting: string;
  readonly host: string;
  readonly isUdpToo: boolean;
}

/** A configured port, which must be free; 0 picks a free one. */
async function ownPort(port: number, at: PortSetting): Promise<number> {
  if (port === 0) return freePort(at.host);
  await requireListenable({ ...at, port });
  return port;
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}
