/**
 * The whole product, started as a user starts it and told nothing but documented settings: for journeys and
 * benchmarks. It finds a port by what the program prints, talks to it over HTTP with the key the program
 * wrote, and kills its processes by what they are called.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { isRunning, type Process, processTree } from './process-tree.ts';

const ROOT = resolve(import.meta.dirname, '../..');
/**
 * Only what hangs runs into one of these: on a machine with ten times the work it could do a start took 30 s.
 */
const START_MS = 90_000;
const STOP_MS = 60_000;
const CONDITION_MS = 60_000;
/** Media ports of one product, so that several can run beside each other. */
const RTP_PORTS = 800;
const RTP_FIRST = 20_000;
const RTP_SLOTS = 24;

/** How a product is started. */
export interface ProductOptions {
  /** Settings beyond the harness's own. */
  readonly environment?: Readonly<Record<string, string>>;
  /** A data directory to start on again; a fresh one of its own by default. */
  readonly dataDir?: string;
  /** Of the drachtio-server it is started with; its own signalling's by default. */
  readonly sipPort?: number;
}

/** An answer of the API. */
export interface ApiAnswer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: journeys look at whatever the API answers
  readonly body: any;
}

/** What is killed by name; `media-thread` is the process web calls live in. */
export type ProductPart = 'control-plane' | 'worker' | 'media-thread' | 'signalling' | 'supervisor';

/** `sipPort` is null where phone calls come by a server of somebody else's. */
const readyLine = z.object({ port: z.number(), sipPort: z.number().nullable(), number: z.string() });

/** Starts the product and waits until it is ready. Throws with its output when it does not come up. */
export async function startProduct(options: ProductOptions = {}): Promise<Product> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'parley-journey-'));
  const rtpFirst = RTP_FIRST + RTP_PORTS * Math.floor(Math.random() * RTP_SLOTS);
  const startedMs = performance.now();
  const child = spawn(join(ROOT, 'node_modules/.bin/node'), ['main.ts', 'all'], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      PORT: '0',
      SIP_PORT: '0',
      HOST: '127.0.0.1',
      DATA_DIR: dataDir,
      EGRESS_ALLOW: '127.0.0.1',
      RTP_PORT_MIN: String(rtpFirst),
      RTP_PORT_MAX: String(rtpFirst + RTP_PORTS - 1),
      ...options.environment,
    },
  });
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => output.push(text));
  const printed = await untilPrinted(child, output);
  const product = new Product({
    child,
    output,
    dataDir,
    keepsDataDir: options.dataDir !== undefined,
    startedMs,
    ...printed,
    sipPort: options.sipPort ?? printed.sipPort ?? 0,
  });
  try {
    await product.until(
      'it is ready',
      async () => (await fetch(`${product.url}/readyz`)).status === 200,
      START_MS,
    );
  } catch (error) {
    await product.close();
    throw error;
  }
  product.readyAfterMs = performance.now() - startedMs;
  return product;
}

interface Started extends z.infer<typeof readyLine> {
  readonly sipPort: number;
  readonly child: ChildProcess;
  readonly output: string[];
  readonly dataDir: string;
  readonly keepsDataDir: boolean;
  readonly startedMs: number;
}

/** A running product. */
export class Product {
  readonly url: string;
  readonly sipPort: number;
  /** The demo agent's number. */
  readonly number: string;
  readonly dataDir: string;
  readonly pid: number;
  /** Start to `/readyz` 200. */
  readyAfterMs = 0;
  readonly rootKey: string;
  readonly #child: ChildProcess;
  readonly #output: string[];
  readonly #keepsDataDir: boolean;
  readonly #everStarted = new Map<number, Process>();

  constructor(started: Started) {
    this.url = `http://127.0.0.1:${started.port}`;
    this.sipPort = started.sipPort;
    this.number = started.number;
    this.dataDir = started.dataDir;
    this.pid = started.child.pid ?? 0;
    this.#child = started.child;
    this.#output = started.output;
    this.#keepsDataDir = started.keepsDataDir;
    const credentials = z
      .object({ root_api_key: z.string() })
      .parse(JSON.parse(readFileSync(join(started.dataDir, 'credentials.json'), 'utf8')));
    this.rootKey = credentials.root_api_key;
  }

  /** SIP address of a number on this product. */
  sipAddress(number = this.number): string {
    return `sip:${number}@127.0.0.1:${this.sipPort}`;
  }

  /** Everything it printed. */
  get log(): string {
    return this.#output.join('');
  }

  /** Calls the API with the root key. Rejects only when nothing answers. */
  async api(method: string, path: string, body?: unknown): Promise<ApiAnswer> {
    const response = await fetch(`${this.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.rootKey}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(15_000),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') === true;
    return { status: response.status, body: isJson && text !== '' ? JSON.parse(text) : text };
  }

  /** Like `api`, and throws unless the answer is a success. */
  async ask(method: string, path: string, body?: unknown): Promise<ApiAnswer['body']> {
    const answer = await this.api(method, path, body);
    if (answer.status >= 300)
      throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  /** Its processes now. */
  processes(): Process[] {
    const tree = processTree(this.pid);
    for (const item of tree) this.#everStarted.set(item.pid, item);
    return tree;
  }

  /** Processes of one part, found by their command line, which is part of the contract with operators. */
  parts(part: ProductPart): Process[] {
    if (part === 'supervisor') return this.processes().filter(({ pid }) => pid === this.pid);
    return this.processes().filter(({ pid, commandLine }) => pid !== this.pid && commandLine.includes(part));
  }

  /** Sends SIGKILL to every process of a part; returns how many there were. */
  kill(part: ProductPart): number {
    const victims = this.parts(part);
    for (const { pid } of victims) signal(pid, 'SIGKILL');
    return victims.length;
  }

  /**
   * Waits until `condition` holds, asking every 50 ms; an error counts as not yet. Throws, with the output's
   * end, when it never does.
   */
  async until(
    what: string,
    condition: () => boolean | Promise<boolean>,
    timeoutMs = CONDITION_MS,
  ): Promise<void> {
    const deadlineMs = performance.now() + timeoutMs;
    let lastError: unknown;
    for (;;) {
      try {
        if (await condition()) return;
      } catch (error) {
        lastError = error;
      }
      if (performance.now() > deadlineMs)
        throw new Error(
          `${what}: not within ${timeoutMs} ms\n--- the product's output ends:\n${this.log.slice(-4_000)}`,
          { cause: lastError },
        );
      await new Promise((done) => setTimeout(done, 50));
    }
  }

  /** Sends SIGTERM and resolves with the exit status. */
  async stop(): Promise<number | null> {
    this.processes();
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const ended = once(this.#child, 'exit');
      this.#child.kill('SIGTERM');
      const limit = setTimeout(() => this.#child.kill('SIGKILL'), STOP_MS);
      await ended;
      clearTimeout(limit);
    }
    return this.#child.exitCode;
  }

  /**
   * Kills what is left of it, waits until it is gone, and deletes its data unless the directory was given.
   */
  async close(): Promise<void> {
    this.processes();
    for (const { pid } of this.#everStarted.values()) signal(pid, 'SIGKILL');
    await this.untilGone();
    if (!this.#keepsDataDir) rmSync(this.dataDir, { recursive: true, force: true });
  }

  /** Waits until every process it ever had is gone, by itself. Throws when one stays. */
  untilGone(): Promise<void> {
    return this.until(
      'its processes are gone',
      () => ![...this.#everStarted.keys()].some(isRunning),
      STOP_MS,
    );
  }
}

function untilPrinted(child: ChildProcess, output: readonly string[]): Promise<z.infer<typeof readyLine>> {
  return new Promise((done, reject) => {
    const fail = (why: string) => {
      clearTimeout(limit);
      child.kill('SIGKILL');
      reject(new Error(`the product ${why}:\n${output.join('').slice(-4_000)}`));
    };
    const limit = setTimeout(() => fail(`was not ready within ${START_MS} ms`), START_MS);
    const onExit = () => fail('ended while starting');
    child.once('exit', onExit);
    child.stdout?.on('data', function look() {
      const line = /^ready (\{.*\})$/m.exec(output.join(''))?.[1];
      if (line === undefined) return;
      clearTimeout(limit);
      child.off('exit', onExit);
      child.stdout?.off('data', look);
      done(readyLine.parse(JSON.parse(line)));
    });
  });
}

/**
 * Signals a process that may have ended meanwhile; a number used again by someone else's process is not ours
 * to find here, as they are never reused so soon.
 */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
