/**
 * A LiveKit server for one test: the real program in dev mode on loopback ports, sending webhooks to an
 * address chosen by the test.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const START_MS = 30_000;
/**
 * Each server uses three ports, below the ephemeral range; if one of them is taken, another three are tried.
 */
const FIRST_PORT = 10_000;
const PORT_SLOTS = 3_000;
const ATTEMPTS = 5;
const API_KEY = 'devkey';
const API_SECRET = 'a-secret-of-the-tests-that-is-long-enough';

/** Settings of a server. */
export interface LivekitServerOptions {
  /** Address that receives the webhooks. */
  readonly webhookUrl?: string;
  /** Port to reuse after a restart. */
  readonly port?: number;
  /** Address of this machine that others reach; by default the loopback. */
  readonly address?: string;
}

/** A running server. */
export interface LivekitServer {
  readonly port: number;
  /** UDP port of all media. */
  readonly mediaPort: number;
  /** Settings that point Parley at the server. */
  readonly environment: Readonly<Record<'LIVEKIT_URL' | 'LIVEKIT_API_KEY' | 'LIVEKIT_API_SECRET', string>>;
  /** Kills the server; clients detect the loss themselves. */
  close(): Promise<void>;
}

/** Starts a server and waits until it answers. */
export async function startLivekitServer(options: LivekitServerOptions = {}): Promise<LivekitServer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await start(options.port ?? FIRST_PORT + 3 * Math.floor(Math.random() * PORT_SLOTS), options);
    } catch (error) {
      if (attempt === ATTEMPTS) throw error;
    }
  }
}

async function start(port: number, options: LivekitServerOptions): Promise<LivekitServer> {
  const address = options.address ?? '127.0.0.1';
  const folder = mkdtempSync(join(tmpdir(), 'parley-livekit-'));
  const config = {
    port,
    bind_addresses: [address],
    rtc: {
      tcp_port: port + 1,
      udp_port: port + 2,
      use_external_ip: false,
      enable_loopback_candidate: address === '127.0.0.1',
      node_ip: address,
      // By default clients look up STUN servers by name; without a network each lookup holds a thread for
      // seconds.
      stun_servers: [`${address}:3478`],
    },
    keys: { [API_KEY]: API_SECRET },
    logging: { level: 'warn' },
    ...(options.webhookUrl === undefined
      ? {}
      : { webhook: { api_key: API_KEY, urls: [options.webhookUrl] } }),
  };
  const configFile = join(folder, 'livekit.yaml');
  // JSON is valid YAML.
  writeFileSync(configFile, JSON.stringify(config));
  const child = spawn('livekit-server', ['--config', configFile], { stdio: ['ignore', 'pipe', 'pipe'] });
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => output.push(text));
  try {
    await untilItAnswers(child, `http://${address}:${port}/`);
  } catch (error) {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
    throw new Error(`livekit-server did not start:\n${output.join('').slice(-2_000)}`, { cause: error });
  }
  return {
    port,
    mediaPort: config.rtc.udp_port,
    environment: {
      LIVEKIT_URL: `ws://${address}:${port}`,
      LIVEKIT_API_KEY: API_KEY,
      LIVEKIT_API_SECRET: API_SECRET,
    },
    async close() {
      if (child.exitCode === null && child.signalCode === null) {
        const ended = once(child, 'exit');
        child.kill('SIGKILL');
        await ended;
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function untilItAnswers(child: ChildProcess, url: string): Promise<void> {
  const deadlineMs = performance.now() + START_MS;
  for (;;) {
    if (child.exitCode !== null) throw new Error(`it ended with code ${child.exitCode}`);
    const answer = await fetch(url).catch(() => null);
    if (answer?.ok) return;
    if (performance.now() > deadlineMs) throw new Error('it does not answer');
    await new Promise((done) => setTimeout(done, 50));
  }
}
