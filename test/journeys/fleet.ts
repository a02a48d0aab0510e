/**
 * A product in parts, as on several machines: a control plane and the signalling on one, and workers with
 * data directories, media ports and links of their own; for tests that lose a machine or a link.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Link, openLink } from '#test/fakes/link.ts';
import { freeTcpPort, freeUdpPort } from '#test/free-port.ts';
import { processTree } from './process-tree.ts';
import type { ApiAnswer } from './product.ts';
import { Program } from './program.ts';

const ROOT_KEY = 'a-root-key-of-a-fleet';
const WORKER_TOKEN = 'a-token-of-the-workers';
const RTP_PORTS = 40;
const CONDITION_MS = 60_000;

/** A machine with one worker. */
export interface Machine {
  /** Its links to the control plane and to signalling. */
  readonly link: Link;
  readonly sipLink: Link;
  readonly program: Program;
  readonly firstPort: number;
}

/** The parts. */
export class Fleet {
  readonly url: string;
  readonly sipPort: number;
  readonly machines: Machine[] = [];
  readonly #folder: string;
  readonly #startControlPlane: () => Program;
  #controlPlane: Program;
  readonly #programs: Program[];
  readonly #environment: Readonly<Record<string, string>>;

  private constructor(parts: {
    readonly url: string;
    readonly sipPort: number;
    readonly folder: string;
    readonly startControlPlane: () => Program;
    readonly controlPlane: Program;
    readonly programs: Program[];
    readonly environment: Readonly<Record<string, string>>;
  }) {
    this.url = parts.url;
    this.sipPort = parts.sipPort;
    this.#folder = parts.folder;
    this.#startControlPlane = parts.startControlPlane;
    this.#controlPlane = parts.controlPlane;
    this.#programs = parts.programs;
    this.#environment = parts.environment;
  }

  /** Starts the control plane, with further settings, and the signalling. */
  static async start(settings: Readonly<Record<string, string>> = {}): Promise<Fleet> {
    const folder = mkdtempSync(join(tmpdir(), 'parley-fleet-'));
    const [port, appPort, sipPort] = await Promise.all([freeTcpPort(), freeTcpPort(), freeUdpPort()]);
    const url = `http://127.0.0.1:${port}`;
    const environment = {
      HOST: '127.0.0.1',
      WORKER_TOKEN,
      LOG_LEVEL: 'info',
      EGRESS_ALLOW: '127.0.0.1',
      LOCAL_LLM_URL: 'off',
      DRACHTIO_HOST: '127.0.0.1',
      DRACHTIO_PORT: String(appPort),
      DRACHTIO_SECRET: 'a-secret-of-the-fleet',
    };
    const own = { ...environment, PORT: String(port), SIP_PORT: String(sipPort), CONTROL_PLANE_URL: url };
    const startControlPlane = () =>
      new Program('control-plane', {
        ...own,
        DATA_DIR: join(folder, 'control-plane'),
        ROOT_API_KEY: ROOT_KEY,
        ...settings,
      });
    const controlPlane = startControlPlane();
    const signalling = new Program('signalling', { ...own, DATA_DIR: join(folder, 'signalling') });
    const fleet = new Fleet({
      ...{ url, sipPort, folder, environment, startControlPlane, controlPlane },
      programs: [controlPlane, signalling],
    });
    try {
      await controlPlane.printed(/^ready /m);
      await signalling.printed(/^Signalling /m);
    } catch (error) {
      await fleet.close();
      throw error;
    }
    return fleet;
  }

  /** Starts a machine with a worker; resolves when it is connected. */
  async startMachine(firstPort: number): Promise<Machine> {
    const dataDir = join(this.#folder, `machine-${firstPort}`);
    mkdirSync(dataDir);
    const link = await openLink(Number(new URL(this.url).port));
    const sipLink = await openLink(Number(this.#environment['DRACHTIO_PORT']));
    const program = new Program('worker', {
      ...this.#environment,
      CONTROL_PLANE_URL: `http://127.0.0.1:${link.port}`,
      DRACHTIO_PORT: String(sipLink.port),
      DATA_DIR: dataDir,
      WORKER_KINDS: 'phone,web',
      RTP_PORT_MIN: String(firstPort),
      RTP_PORT_MAX: String(firstPort + RTP_PORTS - 1),
    });
    this.#programs.push(program);
    const machine = { link, sipLink, program, firstPort };
    this.machines.push(machine);
    await program.printed(/connected to the control plane/);
    return machine;
  }

  /** Kills the control plane with everything it has started. */
  killControlPlane(): void {
    for (const { pid } of processTree(this.#controlPlane.pid)) process.kill(pid, 'SIGKILL');
  }

  /** Starts the killed control plane again; resolves when it is ready. */
  async restartControlPlane(): Promise<void> {
    await this.#controlPlane.close();
    this.#controlPlane = this.#startControlPlane();
    this.#programs.push(this.#controlPlane);
    await this.#controlPlane.printed(/^ready /m);
  }

  /** The machine whose worker logged this first. */
  machineThatLogged(text: string): Machine | undefined {
    return this.machines.find(({ program }) => program.output.includes(text));
  }

  /** The machine whose worker has this media port. */
  machineOf(port: number): Machine {
    const found = this.machines.find(({ firstPort }) => port >= firstPort && port < firstPort + RTP_PORTS);
    if (!found) throw new Error(`no machine has the media port ${port}`);
    return found;
  }

  /** Sends a signal to every process of a machine. */
  signal({ program }: Machine, name: NodeJS.Signals): void {
    for (const { pid } of processTree(program.pid)) process.kill(pid, name);
  }

  async ask(method: string, path: string, body?: unknown): Promise<ApiAnswer['body']> {
    const response = await fetch(`${this.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${ROOT_KEY}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === '' ? null : JSON.parse(text);
  }

  /** Polls until the condition holds; throws with the end of all output. */
  async until(
    what: string,
    condition: () => boolean | Promise<boolean>,
    timeoutMs = CONDITION_MS,
  ): Promise<void> {
    const deadlineMs = performance.now() + timeoutMs;
    while (!(await condition())) {
      if (performance.now() > deadlineMs)
        throw new Error(`${what}: not within ${timeoutMs} ms${this.#log()}`);
      await new Promise((done) => setTimeout(done, 50));
    }
  }

  async close(): Promise<void> {
    for (const { program } of this.machines) {
      const { pid } = program;
      for (const process_ of processTree(pid)) process.kill(process_.pid, 'SIGKILL');
    }
    for (const program of this.#programs) await program.close();
    for (const { link, sipLink } of this.machines) await Promise.all([link.close(), sipLink.close()]);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #log(): string {
    return this.#programs.map(({ output }) => `\n---\n${output.slice(-3_000)}`).join('');
  }
}
