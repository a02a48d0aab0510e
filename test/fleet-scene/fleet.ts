/**
 * Three machines with a control plane and a worker each, two signalling servers, a store, a Redis, a media
 * relay and a load balancer, each on a host of its own; and an agent with a number.
 */
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '#base/clock.ts';
import { createNgClient } from '#telephony/relay/ng-client.ts';
import { has } from '#test/needs.ts';
import { Program, RunningProgram } from '../journeys/program.ts';
import { RootApi } from '../journeys/root-api.ts';
import { type Host, type Network, RANGE } from './network.ts';
import { GIVES_WAY, Part } from './part.ts';

const MACHINES = 3;
const SIGNALLING_SERVERS = 2;
export const HTTP_PORT = 8080;
const [APP_PORT, STORE_PORT, REDIS_PORT, RELAY_PORT] = [9022, 27_017, 6_379, 2_223];
const SIP_PORT = 5_060;
const RTP_PORTS = [20_000, 20_999] as const;
const SECOND_RTP_PORTS = [21_000, 21_999] as const;
const ROOT_KEY = 'a-root-key-of-a-fleet';
const READY = { 'control-plane': /^ready /m, signalling: /^Signalling /m, worker: /^Works for /m };
const RELAY_WITHIN_MS = 10_000;

/** A machine with a control plane and a worker. */
export interface Machine {
  readonly host: Host;
  readonly controlPlane: Part;
  readonly worker: Part;
}

/** Settings of the parts that are not the fleet's own, and what to run. */
export interface FleetOptions {
  /** For every part. */
  readonly settings: Readonly<Record<string, string>>;
  /** Folder of another release, from which the machines and one signalling server start. */
  readonly release?: string;
}

interface Hosts {
  readonly machines: readonly Host[];
  readonly signalling: readonly Host[];
  readonly balancer: Host;
  readonly store: Host;
  readonly redis: Host;
  readonly relay: Host;
}

/** The fleet. Its API is that of a control plane behind the balancer. */
export class Fleet extends RootApi {
  readonly rootKey = ROOT_KEY;
  protected override readonly answerMs = 30_000;
  readonly machines: readonly Machine[];
  readonly signalling: readonly Part[];
  readonly store: Part;
  readonly redis: Part;
  readonly #folder: string;
  readonly #hosts: Hosts;
  readonly #settings: Readonly<Record<string, string>>;
  readonly #parts: Part[] = [];
  readonly #startedFrom: string | undefined;
  /** Where what starts next is from; undefined: this release. */
  #release: string | undefined;

  private constructor(hosts: Hosts, { settings, release }: FleetOptions) {
    super();
    this.#folder = mkdtempSync(join(tmpdir(), 'fleet-scene-'));
    this.#hosts = hosts;
    this.#startedFrom = release;
    this.#release = release;
    this.#settings = {
      ...settings,
      ROOT_API_KEY: ROOT_KEY,
      WORKER_TOKEN: 'a-token-of-the-workers',
      DRACHTIO_SECRET: 'a-secret-of-the-fleet',
      SIP_TRUSTED: RANGE,
      EGRESS_ALLOW: RANGE,
      LOCAL_LLM_URL: 'off',
      STARTING_CREDIT: '1000.00',
      BLOBS_URL: join(this.#folder, 'blobs'),
      MONGODB_URL: storeUrlOf(hosts.store),
      REDIS_URL: `redis://${hosts.redis.address}:${REDIS_PORT}`,
      ...(has(['rtpengine']) ? { RTPENGINE: `${hosts.relay.address}:${RELAY_PORT}` } : {}),
    };
    this.store = this.#add(
      new Part('store', /^ready/m, () =>
        command(hosts.store, [
          ...[process.execPath, join(import.meta.dirname, 'store-process.ts'), this.#storeFolder],
          ...[hosts.store.address, String(STORE_PORT)],
        ]),
      ),
    );
    this.redis = this.#add(
      new Part('redis', /ready to accept connections/i, () =>
        command(hosts.redis, [
          ...['redis-server', '--bind', hosts.redis.address, '--port', String(REDIS_PORT)],
          ...['--protected-mode', 'no', '--save', '', '--appendonly', 'no'],
        ]),
      ),
    );
    this.machines = hosts.machines.map((host, index) => ({
      host,
      controlPlane: this.#part('control-plane', host, `control-plane-${index + 1}`),
      worker: this.#part('worker', host, `worker-${index + 1}`),
    }));
    this.signalling = hosts.signalling.map((host, index) =>
      this.#part('signalling', host, `signalling-${index + 1}`),
    );
  }

  /** Starts everything on new hosts; of the last release only one signalling server, as it knows no more. */
  static async start(network: Network, options: FleetOptions): Promise<Fleet> {
    const many = async (count: number) => {
      const hosts: Host[] = [];
      while (hosts.length < count) hosts.push(await network.addHost());
      return hosts;
    };
    const fleet = new Fleet(
      {
        machines: await many(MACHINES),
        signalling: await many(SIGNALLING_SERVERS),
        balancer: await network.addHost(),
        store: await network.addHost(),
        redis: await network.addHost(),
        relay: await network.addHost(),
      },
      options,
    );
    try {
      await fleet.#startAll();
    } catch (error) {
      await fleet.close();
      throw error;
    }
    return fleet;
  }

  /** `host:port` of the signalling servers that serve. */
  get sipAddresses(): string[] {
    return this.#hosts.signalling
      .slice(0, this.#serving.length)
      .map(({ address }) => `${address}:${SIP_PORT}`);
  }

  get #serving(): readonly Part[] {
    return this.signalling.slice(0, this.#startedFrom === undefined ? SIGNALLING_SERVERS : 1);
  }

  /** Of the load balancer in front of the control planes. */
  get balancerAddress(): string {
    return this.#hosts.balancer.address;
  }

  get redisPlace(): { readonly host: string; readonly port: number } {
    return { host: this.#hosts.redis.address, port: REDIS_PORT };
  }

  get storeUrl(): string {
    return storeUrlOf(this.#hosts.store);
  }

  /** The folder above the store's files, as a DATA_DIR. */
  get dataDir(): string {
    return join(this.#folder, 'store');
  }

  /** What is started from now on is of this release. */
  upgrade(): void {
    this.#release = undefined;
  }

  /** Another worker on the machine of this number, not started yet. */
  addWorker(index: number): Part {
    const host = this.#hosts.machines[index];
    if (!host) throw new Error(`there is no machine ${index}`);
    return this.#part('worker', host, `second-worker-${index + 1}`, SECOND_RTP_PORTS);
  }

  #part(role: keyof typeof READY, host: Host, name: string, rtpPorts: readonly number[] = RTP_PORTS): Part {
    const [first, last] = rtpPorts;
    return this.#add(
      new Part(name, READY[role], () => {
        const settings = {
          ...this.#settings,
          ...this.#settingsOf(role, host.address),
          ...{ RTP_PORT_MIN: String(first), RTP_PORT_MAX: String(last) },
          DATA_DIR: join(this.#folder, name),
        };
        return new Program(role, settings, this.#release, [...host.within, ...GIVES_WAY]);
      }),
    );
  }

  #settingsOf(role: keyof typeof READY, address: string): Record<string, string> {
    const servers = this.#hosts.signalling.map((server) => `${server.address}:${APP_PORT}`);
    // The last release knows one server.
    const reaching =
      this.#release === undefined
        ? { DRACHTIO_SERVERS: servers.join(',') }
        : { DRACHTIO_HOST: this.#hosts.signalling[0]?.address ?? '', DRACHTIO_PORT: String(APP_PORT) };
    const balanced = this.url;
    switch (role) {
      case 'control-plane':
        return { HOST: address, PORT: String(HTTP_PORT), PUBLIC_URL: balanced, ...reaching };
      case 'worker':
        return { HOST: address, CONTROL_PLANE_URL: balanced, DRAIN_SECONDS: '60', ...reaching };
      case 'signalling':
        return {
          HOST: address,
          SIP_PORT: String(SIP_PORT),
          CONTROL_PLANE_URL: balanced,
          DRACHTIO_HOST: address,
          DRACHTIO_PORT: String(APP_PORT),
        };
      default:
        return role satisfies never;
    }
  }

  /** Creates an agent that answers a number. */
  async bindNumber(number: string, webhookUrl: string): Promise<string> {
    const { agent_id: agentId } = await this.ask('POST', '/v1/agent/agents', {
      name: 'Forecast',
      config: {
        prompt: { system_prompt: 'You talk.', first_message_mode: 'fixed', first_message: 'Hello there.' },
        conversation: { response_wait_ms: 300 },
        webhooks: { post_call: [{ url: webhookUrl }] },
      },
    });
    await this.ask('POST', `/v1/agent/agents/${agentId}/publish`, {});
    const binding = { provider: 'managed', phone_number: number, agent_id: agentId };
    await this.ask('POST', '/v1/agent/phone-numbers', binding);
    return agentId;
  }

  /** Stops the control planes and the store in this order, so that the books can be read. */
  async stop(): Promise<void> {
    await Promise.all(this.machines.map(({ controlPlane }) => controlPlane.stop()));
    await this.store.stop();
  }

  /** Writes what every part printed into a folder. */
  writeLogs(folder: string): void {
    mkdirSync(folder, { recursive: true });
    for (const { name, output } of this.#parts) writeFileSync(join(folder, `${name}.log`), output);
  }

  async close(): Promise<void> {
    await Promise.all(this.#parts.map((part) => part.kill()));
    rmSync(this.#folder, { recursive: true, force: true });
  }

  get url(): string {
    return `http://${this.balancerAddress}:${HTTP_PORT}`;
  }

  get #storeFolder(): string {
    return join(this.dataDir, 'database');
  }

  async #startAll(): Promise<void> {
    mkdirSync(this.#storeFolder, { recursive: true });
    await Promise.all([this.store.start(), this.redis.start(), this.#startRelay(), this.#startBalancer()]);
    const [first, ...others] = this.machines.map(({ controlPlane }) => controlPlane);
    await first?.start();
    await Promise.all(others.map((part) => part.start()));
    await Promise.all(this.#serving.map((part) => part.start()));
    await Promise.all(this.machines.map(({ worker }) => worker.start()));
  }

  async #startBalancer(): Promise<void> {
    const servers = this.#hosts.machines.map(({ address }) => `${address}:${HTTP_PORT}`);
    const program = join(import.meta.dirname, 'balancer-process.ts');
    const { balancer } = this.#hosts;
    const words = [process.execPath, program, `${balancer.address}:${HTTP_PORT}`, ...servers];
    await this.#add(new Part('balancer', /^ready/m, () => command(balancer, words))).start();
  }

  async #startRelay(): Promise<void> {
    const place = this.#settings['RTPENGINE'];
    if (place === undefined) return;
    const { relay } = this.#hosts;
    const host = relay.address;
    const words = [
      ...['rtpengine', '--config-file=none', '--foreground', '--log-stderr', '--log-level=1', '--table=-1'],
      ...['--num-threads=2', `--listen-ng=${place}`, `--interface=card/${host}`],
      ...['--port-min=40000', '--port-max=49999', '--timeout=60'],
    ];
    await this.#add(new Part('relay', /^/m, () => command(relay, words))).start();
    const client = createNgClient(
      { host, port: RELAY_PORT },
      { clock: systemClock, cookie: () => randomUUID() },
    );
    const deadlineMs = performance.now() + RELAY_WITHIN_MS;
    const isThere = () =>
      client.ask({ command: 'ping' }).then(
        () => true,
        () => false,
      );
    while (!(await isThere()))
      if (performance.now() > deadlineMs) throw new Error('the relay does not answer');
    client.close();
  }

  #add(part: Part): Part {
    this.#parts.push(part);
    return part;
  }
}

function storeUrlOf({ address }: Host): string {
  return `mongodb://${address}:${STORE_PORT}/?directConnection=true`;
}

/** Runs a command on a host. */
function command({ within }: Host, words: readonly string[]): RunningProgram {
  return new RunningProgram([...within, ...words], { cwd: tmpdir(), env: process.env });
}
