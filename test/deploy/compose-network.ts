/**
 * Run in a network namespace of its own: a host behind one-to-one NAT runs the parts of the compose file with
 * exactly their environment; a phone and a participant of a room outside call it by its public address.
 * Prints, as one line of JSON, what they heard.
 *
 * For what cannot be run without a container engine, something with the same protocol stands in at the same
 * address: the embedded database for MongoDB, the embedded signalling for drachtio-server.
 */
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { dispose } from '@livekit/rtc-node';
import { voicedSeconds } from '#caller/voiced.ts';
import { LivekitCaller } from '#test/fakes/livekit-caller.ts';
import { type Host, OUTSIDE, openNetwork, SWITCH } from '../fleet-scene/network.ts';
import { callWithBaresip } from '../journeys/baresip-caller.ts';
import { QUESTION } from '../journeys/microphone.ts';
import { RunningProgram } from '../journeys/program.ts';
import { RootApi } from '../journeys/root-api.ts';
import { type ComposeFile, readComposeFile } from './compose-file.ts';

/** What was heard from outside. */
export interface HeardOutside {
  /** Voice of the agent that the phone heard, seconds. */
  readonly phoneSeconds: number;
  /** Voice of the agent that the participant of the room heard, seconds. */
  readonly roomSeconds: number;
  /** Results of the health checks of the control plane and the worker. */
  readonly areHealthy: readonly boolean[];
}

/** The machine as others see it. */
const PUBLIC_IP = '203.0.113.7';
const PROXY_PORT = 8443;
const RATE_HZ = 48_000;
const LISTEN_MS = 8_000;
const READY = { 'control-plane': /^ready /m, worker: /^Works for /m, signalling: /^Signalling /m };
const SECRETS = {
  ROOT_API_KEY: 'a-root-key-of-this-test',
  MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
  WORKER_TOKEN: 'a-token-of-the-workers',
  DRACHTIO_SECRET: 'a-secret-of-signalling',
  LIVEKIT_API_SECRET: 'a-secret-of-the-rooms-that-is-long-enough',
};
const DOTENV = { ...SECRETS, PUBLIC_IP, SIP_TRUSTED: `${OUTSIDE}/32` };

const run = promisify(execFile);

/** The API, behind a reverse proxy on the host. */
class Api extends RootApi {
  readonly url = `http://${PUBLIC_IP}:${PROXY_PORT}`;
  readonly rootKey = SECRETS.ROOT_API_KEY;
}

const folder = mkdtempSync(join(tmpdir(), 'compose-'));
const network = openNetwork();
const host = await network.addHost();
translate(host);
const programs: RunningProgram[] = [];
try {
  const compose = readComposeFile(DOTENV);
  await startParts(compose);
  const { 'control-plane': controlPlane, worker } = compose.services;
  const areHealthy = [
    await isHealthy('control-plane', controlPlane?.environment),
    await isHealthy('worker', worker?.environment),
  ];
  const phone = await callWithBaresip(`sip:+15550100000@${PUBLIC_IP}:5060`, 'me', [4, QUESTION, 6]);
  const heard: HeardOutside = {
    phoneSeconds: voicedSeconds(phone.samples, phone.rateHz),
    roomSeconds: await listenInRoom(new Api()),
    areHealthy,
  };
  console.log(`heard ${JSON.stringify(heard)}`);
} catch (error) {
  for (const { output } of programs) console.log(output);
  throw error;
} finally {
  for (const program of programs.toReversed()) {
    program.signalTree('SIGKILL');
    await program.close();
  }
  await network.close();
  // The native part of the participant would keep this process running.
  await dispose();
  rmSync(folder, { recursive: true, force: true });
}

/** One-to-one NAT: outside, the host has another address than its own. */
function translate({ address }: Host): void {
  const nat = (...words: string[]) => execFileSync('iptables', ['-t', 'nat', ...words]);
  execFileSync('ip', ['route', 'add', `${PUBLIC_IP}/32`, 'dev', SWITCH]);
  nat('-A', 'OUTPUT', '-d', PUBLIC_IP, '-j', 'DNAT', '--to-destination', address);
  nat('-A', 'INPUT', '-s', address, '-j', 'SNAT', '--to-source', PUBLIC_IP);
}

async function startParts({ services, configs }: ComposeFile): Promise<void> {
  const store = join(folder, 'store');
  mkdirSync(store);
  writeFileSync(join(folder, 'livekit.yaml'), configs['livekit']?.content ?? '');
  const here = join(import.meta.dirname, '../fleet-scene');
  await Promise.all([
    start([process.execPath, join(here, 'store-process.ts'), store, '127.0.0.1', '27017'], /^ready/m),
    start([...(services['redis']?.command ?? []), '--bind', '127.0.0.1'], /ready to accept connections/i),
  ]);
  await start(['livekit-server', '--config', join(folder, 'livekit.yaml')], /starting LiveKit server/);
  await startService('control-plane', services);
  // What drachtio.conf.xml says.
  await start(main('signalling'), READY.signalling, {
    ...{ HOST: '0.0.0.0', SIP_PORT: '5060', SIP_PUBLIC_IP: PUBLIC_IP, DRACHTIO_HOST: '127.0.0.1' },
    ...{ DRACHTIO_PORT: '9022', DRACHTIO_SECRET: SECRETS.DRACHTIO_SECRET, HEALTH_PORT: '0' },
    ...{ WORKER_TOKEN: SECRETS.WORKER_TOKEN, CONTROL_PLANE_URL: 'http://127.0.0.1:8080' },
  });
  await startService('worker', services);
  await start(
    [
      ...[process.execPath, join(here, 'balancer-process.ts')],
      ...[`${host.address}:${PROXY_PORT}`, '127.0.0.1:8080'],
    ],
    /^ready/m,
  );
}

/** Starts a service with exactly its environment, except for its volume and the stand-in of its database. */
async function startService(
  name: 'control-plane' | 'worker',
  services: ComposeFile['services'],
): Promise<void> {
  const { command = [], environment = {} } = services[name] ?? {};
  await start([join('node_modules', '.bin', 'node'), ...command], READY[name], {
    ...environment,
    DATA_DIR: join(folder, name),
    // The embedded database is no replica set.
    ...(environment['MONGODB_URL'] && {
      MONGODB_URL: environment['MONGODB_URL'].replace('replicaSet=rs0&', ''),
    }),
  });
}

function main(part: string): string[] {
  return [join('node_modules', '.bin', 'node'), 'main.ts', part];
}

async function start(
  words: readonly string[],
  ready: RegExp,
  environment: Readonly<Record<string, string>> = {},
): Promise<void> {
  const program = new RunningProgram([...host.within, ...words], {
    cwd: join(import.meta.dirname, '../..'),
    env: { PATH: process.env['PATH'], HOME: folder, ...environment },
  });
  programs.push(program);
  await program.printed(ready);
}

/** Whether the health check of the image succeeds with the service's environment. */
async function isHealthy(part: string, environment: Readonly<Record<string, string>> = {}): Promise<boolean> {
  const [command = '', ...rest] = [...host.within, process.execPath, 'deploy/health-check.mjs', part];
  return run(command, rest, { env: { ...process.env, ...environment } }).then(
    () => true,
    () => false,
  );
}

/** Joins a session's room by the address that the API gives, and listens to the greeting. */
async function listenInRoom(api: Api): Promise<number> {
  const { agents } = await api.ask('GET', '/v1/agent/agents');
  const session = await api.ask('POST', '/v1/agent/sessions', { agent_id: agents[0].agent_id });
  const caller = await LivekitCaller.join(session.livekit_url, session.token, { keepsAudio: true });
  await sleep(LISTEN_MS);
  const samples = Int16Array.from(caller.heard.flatMap((block) => [...block.samples]));
  await caller.hangUp();
  return voicedSeconds(samples, RATE_HZ);
}
