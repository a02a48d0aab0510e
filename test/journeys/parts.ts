/** The parts of the product started one by one, as on several machines, on loopback ports of their own. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { freeTcpPort } from '#test/free-port.ts';
import { Installation } from './installation.ts';
import { Program } from './program.ts';

/**
 * What each part prints once it is ready. A worker says whom it works for after a while even if it is not
 * connected; that it is, it logs (LOG_LEVEL=info), the last release in other words.
 */
const READY = {
  'control-plane': [/^ready /m],
  signalling: [/^Signalling /m],
  worker: [/^Works for /m, /connected to the control plane/, /connected to (?:the SIP server|signalling)"/],
};

/** The ports at which parts find one another. */
interface Ports {
  readonly http: number;
  readonly sip: number;
  /** Where workers connect to the signalling. */
  readonly app: number;
}

/** How a part is started. */
export interface StartOptions {
  /** Settings of this part alone. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Folder of another release. */
  readonly root?: string;
}

/** An installation in parts. */
export class Parts extends Installation {
  readonly url: string;
  readonly rootKey = randomBytes(16).toString('hex');
  readonly sipPort: number;
  readonly number = '+15550100000';
  /** Where workers connect to the signalling. */
  readonly appPort: number;
  readonly #folder = mkdtempSync(join(tmpdir(), 'parley-parts-'));
  readonly #started: Program[] = [];
  readonly #settings: Readonly<Record<string, string>>;

  protected constructor(ports: Ports, settings: Readonly<Record<string, string>>) {
    super();
    this.url = `http://127.0.0.1:${ports.http}`;
    this.sipPort = ports.sip;
    this.appPort = ports.app;
    this.#settings = {
      HOST: '127.0.0.1',
      PORT: String(ports.http),
      SIP_PORT: String(ports.sip),
      WORKER_TOKEN: randomBytes(16).toString('hex'),
      CONTROL_PLANE_URL: this.url,
      DRACHTIO_PORT: String(ports.app),
      DRACHTIO_SECRET: 'secret',
      EGRESS_ALLOW: '127.0.0.1',
      LOCAL_LLM_URL: 'off',
      DRAIN_SECONDS: '60',
      ...settings,
    };
  }

  /** Chooses the ports; `settings` go to every part. */
  static async open(settings: Readonly<Record<string, string>>): Promise<Parts> {
    return new Parts(await Parts.freePorts(), settings);
  }

  protected static async freePorts(): Promise<Ports> {
    return { http: await freeTcpPort(), sip: await freeTcpPort(), app: await freeTcpPort() };
  }

  /**
   * Starts a part in a data folder of its own, named `data`; resolves when it is ready: a worker when it is
   * connected to the control plane and to the signalling.
   */
  async start(
    part: keyof typeof READY,
    data: string,
    { settings = {}, root }: StartOptions = {},
  ): Promise<Program> {
    const program = new Program(
      part,
      {
        ...this.#settings,
        DATA_DIR: join(this.#folder, data),
        ...(part === 'control-plane' ? { ROOT_API_KEY: this.rootKey } : {}),
        // To a control plane an address means an external SIP server.
        ...(part === 'worker' ? { DRACHTIO_HOST: '127.0.0.1' } : {}),
        ...settings,
      },
      root,
    );
    this.#started.push(program);
    for (const line of READY[part]) await program.printed(line);
    return program;
  }

  /** Stops a part as a deploy does. */
  async stop(program: Program): Promise<void> {
    program.signal('SIGTERM');
    expect(await program.ended()).toBe(0);
  }

  /** Kills every part with all that it has started, and deletes the data. */
  async close(): Promise<void> {
    for (const program of this.#started) program.signalTree('SIGKILL');
    await Promise.all(this.#started.map((program) => program.close()));
    rmSync(this.#folder, { recursive: true, force: true });
  }

  protected get lastOutput(): string {
    return this.#started.map(({ output }) => `\n---\n${output.slice(-3_000)}`).join('');
  }
}
