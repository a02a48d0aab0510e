/**
 * The whole product, started as by a user, with documented settings only; for journeys and benchmarks. The
 * harness reads the port from the program's output, uses HTTP with the key that the program wrote, and kills
 * processes by name.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { Installation } from './installation.ts';
import { isRunning, type Process, processTree, signalProcess } from './process-tree.ts';

const ROOT = resolve(import.meta.dirname, '../..');
/**
 * Generous, so that only a hang times out: on a machine with ten times its capacity in load, a start took 30
 * s.
 */
const START_MS = 90_000;
const STOP_MS = 60_000;
/** Number of media ports per product, so that several can run in parallel. */
const RTP_PORTS = 800;
const RTP_FIRST = 20_000;
const RTP_SLOTS = 24;

/** Start options of a product. */
export interface ProductOptions {
  /** Settings in addition to the harness's own. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Data directory of an earlier run; by default a fresh one. */
  readonly dataDir?: string;
  /** Port of an external drachtio-server; by default the product's own signalling. */
  readonly sipPort?: number;
  /** How often it is asked whether it is ready; by default ever less often. */
  readonly askEveryMs?: number;
}

export type { ApiAnswer } from './root-api.ts';

/** Parts that can be killed by name; `media-thread` is the process of the web calls. */
export type ProductPart = 'control-plane' | 'worker' | 'media-thread' | 'signalling' | 'supervisor';

/** `sipPort` is null with an external SIP server. */
const readyLine = z.object({ port: z.number(), sipPort: z.number().nullable(), number: z.string() });

/** Starts the product and waits until it is ready. Throws with its output if it does not become ready. */
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
      // As `npm start` sets it.
      NODE_COMPILE_CACHE: 'node_modules/.cache/parley',
      PORT: '0',
      SIP_PORT: '0',
      HOST: '127.0.0.1',
      DATA_DIR: dataDir,
      EGRESS_ALLOW: '127.0.0.1',
      // A journey neither depends on this machine's models nor keeps them busy.
      LOCAL_LLM_URL: 'off',
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
      options.askEveryMs,
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
export class Product extends Installation {
  readonly url: string;
  readonly sipPort: number;
  readonly number: string;
  readonly dataDir: string;
  readonly pid: number;
  /** Time from start to `/readyz` 200. */
  readyAfterMs = 0;
  readonly rootKey: string;
  readonly #child: ChildProcess;
  readonly #output: string[];
  readonly #keepsDataDir: boolean;
  readonly #everStarted = new Map<number, Process>();

  constructor(started: Started) {
    super();
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

  /** The complete output. */
  get log(): string {
    return this.#output.join('');
  }

  protected get lastOutput(): string {
    return this.log.slice(-4_000);
  }

  /** Its current processes. */
  processes(): Process[] {
    const tree = processTree(this.pid);
    for (const item of tree) this.#everStarted.set(item.pid, item);
    return tree;
  }

  /** Processes of one part, found by their command line, which operators may rely on. */
  parts(part: ProductPart): Process[] {
    if (part === 'supervisor') return this.processes().filter(({ pid }) => pid === this.pid);
    return this.processes().filter(({ pid, commandLine }) => pid !== this.pid && commandLine.includes(part));
  }

  /** Sends SIGKILL to every process of a part; returns their number. */
  kill(part: ProductPart): number {
    const victims = this.parts(part);
    for (const { pid } of victims) signalProcess(pid, 'SIGKILL');
    return victims.length;
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

  /** Kills remaining processes, waits for their end, and deletes the data unless the directory was given. */
  async close(): Promise<void> {
    this.processes();
    for (const { pid } of this.#everStarted.values()) signalProcess(pid, 'SIGKILL');
    await this.untilGone();
    if (!this.#keepsDataDir) rmSync(this.dataDir, { recursive: true, force: true });
  }

  /** Waits until all processes it ever had have ended by themselves. Throws if one remains. */
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
