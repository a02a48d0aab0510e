/** The parts of the product started one by one, as on several machines, on loopback ports of their own. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { PhoneCaller, type PortRange } from '#caller/phone-caller.ts';
import { prepareScene, type SceneFile } from '#caller/scene.ts';
import { freeTcpPort } from '#test/free-port.ts';
import { Program } from './program.ts';

const READY = { 'control-plane': /^ready /m, signalling: /^Signalling /m, worker: /^Works for /m };
/** The demo agent's number. */
const NUMBER = '+15550100000';
const CONDITION_MS = 60_000;

/** An installation in parts. */
export class Parts {
  readonly #folder = mkdtempSync(join(tmpdir(), 'parley-parts-'));
  readonly #rootKey = randomBytes(16).toString('hex');
  readonly #running: Program[] = [];
  readonly url: string;
  readonly #sipPort: number;
  readonly #settings: Readonly<Record<string, string>>;

  private constructor(
    ports: { readonly http: number; readonly sip: number; readonly app: number },
    settings: Readonly<Record<string, string>>,
  ) {
    this.url = `http://127.0.0.1:${ports.http}`;
    this.#sipPort = ports.sip;
    this.#settings = {
      HOST: '127.0.0.1',
      PORT: String(ports.http),
      SIP_PORT: String(ports.sip),
      ROOT_API_KEY: this.#rootKey,
      WORKER_TOKEN: randomBytes(16).toString('hex'),
      CONTROL_PLANE_URL: this.url,
      DRACHTIO_PORT: String(ports.app),
      DRACHTIO_SECRET: 'secret',
      LOCAL_LLM_URL: 'off',
      DRAIN_SECONDS: '60',
      ...settings,
    };
  }

  /** Chooses the ports; `settings` go to every part. */
  static async open(settings: Readonly<Record<string, string>>): Promise<Parts> {
    const [http, sip, app] = [await freeTcpPort(), await freeTcpPort(), await freeTcpPort()];
    return new Parts({ http, sip, app }, settings);
  }

  /** Starts a part in a data folder of its own, named `data`; `root` is the folder of another release. */
  async start(part: keyof typeof READY, data: string, root?: string): Promise<Program> {
    const settings = {
      ...this.#settings,
      DATA_DIR: join(this.#folder, data),
      // To a control plane an address means an external SIP server.
      ...(part === 'worker' ? { DRACHTIO_HOST: '127.0.0.1' } : {}),
    };
    const program = new Program(part, settings, root);
    this.#running.push(program);
    await program.printed(READY[part]);
    return program;
  }

  /** Stops a part as a deploy does. */
  async stop(program: Program): Promise<void> {
    program.signal('SIGTERM');
    expect(await program.ended()).toBe(0);
  }

  /** Calls the demo agent. */
  call(ports: PortRange, steps: SceneFile['steps']): ReturnType<PhoneCaller['call']> {
    const target = `sip:${NUMBER}@127.0.0.1:${this.#sipPort}`;
    return new PhoneCaller({ ports }).call({ target, scene: prepareScene({ name: 'parts', steps }) });
  }

  // biome-ignore lint/suspicious/noExplicitAny: tests look at what the API answers
  async ask(path: string): Promise<any> {
    const headers = { authorization: `Bearer ${this.#rootKey}` };
    return (await fetch(`${this.url}${path}`, { headers })).json();
  }

  /** All sessions with what was said, newest first. */
  async sessions(): Promise<{ status: string; end_reason: string | null; said: string[] }[]> {
    const { sessions } = await this.ask('/v1/agent/sessions');
    const whole = sessions.map(({ session_id: id }: { session_id: string }) =>
      this.ask(`/v1/agent/sessions/${id}`),
    );
    return (await Promise.all(whole)).map(({ status, end_reason, items }) => ({
      status,
      end_reason,
      said: items.map(({ role, content }: { role: string; content: string }) => `${role}: ${content}`),
    }));
  }

  /** Polls `condition`; an error counts as false. */
  async until(what: string, condition: () => Promise<boolean>): Promise<void> {
    for (const deadlineMs = performance.now() + CONDITION_MS; performance.now() < deadlineMs; ) {
      if (await condition().catch(() => false)) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`${what}: not within ${CONDITION_MS} ms`);
  }

  async close(): Promise<void> {
    await Promise.all(this.#running.map((program) => program.close()));
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
