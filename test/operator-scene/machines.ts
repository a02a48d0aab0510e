/**
 * Three machines, each a network namespace, with the parts of Parley as the chart of three nodes renders
 * them: their commands, environments, secrets and probes. MongoDB, Redis and LiveKit are on the first.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { S3_CREDENTIALS } from '#test/fakes/s3-server.ts';
import { containerOf, Mounts, RenderedChart, ROOT_API_KEY } from '../deploy/rendered-chart.ts';
import { type Host, type Network, OUTSIDE, RANGE } from '../fleet-scene/network.ts';
import { RunningProgram } from '../journeys/program.ts';
import { RootApi } from '../journeys/root-api.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const SCENE = join(ROOT, 'test/fleet-scene');
export const API_PORT = 8_080;
export const SIP_PORT = 5_060;
const [STORE_PORT, REDIS_PORT, LIVEKIT_PORT] = [27_017, 6_379, 7_880];
const [WORKER_HEALTH, SIGNALLING_HEALTH] = [19_090, 19_080];
const READY_WITHIN_MS = 120_000;
const LIVEKIT = { key: 'parley', secret: 'a-secret-of-the-rooms-that-is-long-enough' };
export const METRICS_TOKEN = 'a-token-of-prometheus';

/** A part on a machine. */
export interface Pod {
  readonly name: string;
  /** Where it answers about its health and metrics. */
  readonly address: string;
  /** The path that says whether it is ready. */
  readonly ready: string;
  program: RunningProgram;
  /** Starts it again, as its StatefulSet does. */
  start(): void;
}

/** The machines. The API is that of the Service in front of both control planes. */
export class Machines extends RootApi {
  readonly rootKey = ROOT_API_KEY;
  readonly controlPlanes: Pod[] = [];
  readonly workers: Pod[] = [];
  readonly signalling: Pod[] = [];
  readonly #hosts: readonly Host[];
  readonly #service: Host;
  readonly #folder = mkdtempSync(join(tmpdir(), 'operator-scene-'));
  readonly #chart: RenderedChart;
  readonly #mounts: Mounts;
  readonly #programs: { readonly name: string; readonly program: RunningProgram }[] = [];

  private constructor(hosts: readonly Host[], service: Host, bucket: string) {
    super();
    this.#hosts = hosts;
    this.#service = service;
    const [first] = this.addresses;
    this.#chart = new RenderedChart(
      {
        publicUrl: this.url,
        env: { LOCAL_LLM_URL: 'off', EGRESS_ALLOW: RANGE },
        sip: { trusted: [`${OUTSIDE}/32`] },
        controlPlane: { replicas: 2, env: { BLOBS_URL: bucket } },
        worker: { replicas: 2 },
        signalling: { replicas: 1 },
        livekit: { url: `ws://${first}:${LIVEKIT_PORT}` },
        networkPolicy: { nodeCidrs: [RANGE] },
      },
      'three-nodes',
    );
    this.#mounts = new Mounts(this.#chart, {
      // The embedded database, which stands in for MongoDB, is no replica set.
      MONGODB_URL: `mongodb://mongodb.calls.svc:${STORE_PORT}/parley?directConnection=true`,
      REDIS_URL: `redis://redis.calls.svc:${REDIS_PORT}`,
      ...{ METRICS_TOKEN, LIVEKIT_API_KEY: LIVEKIT.key, LIVEKIT_API_SECRET: LIVEKIT.secret },
      AWS_ACCESS_KEY_ID: S3_CREDENTIALS.accessKeyId,
      AWS_SECRET_ACCESS_KEY: S3_CREDENTIALS.secretAccessKey,
    });
  }

  /** Starts everything at once; resolves when all are ready. `bucket` is their BLOBS_URL. */
  static async start(network: Network, bucket: string): Promise<Machines> {
    const hosts = [await network.addHost(), await network.addHost(), await network.addHost()];
    const machines = new Machines(hosts, await network.addHost(), bucket);
    await machines.#startAll();
    return machines;
  }

  get url(): string {
    return `http://${this.#service.address}:${API_PORT}`;
  }

  /** Of the machines. */
  get addresses(): readonly string[] {
    return this.#hosts.map(({ address }) => address);
  }

  get pods(): readonly Pod[] {
    return [...this.controlPlanes, ...this.signalling, ...this.workers];
  }

  /** The end of what every program printed. */
  get lastOutput(): string {
    return this.#programs
      .map(({ name, program }) => `--- ${name}\n${program.output.slice(-4_000)}\n`)
      .join('');
  }

  async isReady({ address, ready }: Pod): Promise<boolean> {
    const answer = await fetch(`http://${address}${ready}`, { signal: AbortSignal.timeout(3_000) }).catch(
      () => null,
    );
    return answer?.ok === true;
  }

  async close(): Promise<void> {
    for (const { program } of this.#programs.toReversed()) {
      program.signalTree('SIGKILL');
      await program.close();
    }
    this.#mounts.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #startAll(): Promise<void> {
    const [first, second, third] = this.#hosts as [Host, Host, Host];
    writeFileSync(join(this.#folder, 'hosts'), this.#names(first, second));
    await this.#startServices(first);
    const control = { port: API_PORT, ready: '/readyz/requests' };
    const health = (port: number) => ({ port, ready: '/readyz' });
    this.controlPlanes.push(
      this.#pod('Deployment', 'parley-control-plane', { host: first, ordinal: 0, ...control }),
      this.#pod('Deployment', 'parley-control-plane', { host: third, ordinal: 1, ...control }),
    );
    this.signalling.push(
      this.#pod('StatefulSet', 'parley-signalling', {
        ...{ host: second, ordinal: 0, ...health(SIGNALLING_HEALTH) },
      }),
    );
    this.workers.push(
      this.#pod('StatefulSet', 'parley-worker', { host: second, ordinal: 0, ...health(WORKER_HEALTH) }),
      this.#pod('StatefulSet', 'parley-worker', { host: third, ordinal: 1, ...health(WORKER_HEALTH) }),
    );
    await this.untilReady(this.pods);
  }

  /** Polls the readiness probes of the chart. */
  async untilReady(pods: readonly Pod[]): Promise<void> {
    const deadlineMs = performance.now() + READY_WITHIN_MS;
    for (const pod of pods)
      while (!(await this.isReady(pod))) {
        if (performance.now() > deadlineMs)
          throw new Error(`${pod.name} does not become ready\n${this.lastOutput}`);
        await sleep(200);
      }
  }

  /** The cluster's DNS names, in the format of `/etc/hosts`. */
  #names(first: Host, second: Host): string {
    return [
      '127.0.0.1 localhost',
      `${this.#service.address} parley.calls.svc parley-link.calls.svc`,
      `${second.address} parley-signalling-0.parley-signalling.calls.svc`,
      `${first.address} mongodb.calls.svc redis.calls.svc`,
      '',
    ].join('\n');
  }

  async #startServices(first: Host): Promise<void> {
    const store = join(this.#folder, 'store');
    mkdirSync(store);
    const livekit = join(this.#folder, 'livekit.yaml');
    // JSON is valid YAML.
    writeFileSync(
      livekit,
      JSON.stringify({
        port: LIVEKIT_PORT,
        rtc: { tcp_port: 7_881, port_range_start: 50_000, port_range_end: 50_999, node_ip: first.address },
        keys: { [LIVEKIT.key]: LIVEKIT.secret },
        webhook: { api_key: LIVEKIT.key, urls: [`${this.url}/webhooks/livekit`] },
      }),
    );
    const servers = [0, 2].map((index) => `${this.addresses[index]}:${API_PORT}`);
    await Promise.all([
      this.#startServer('service', this.#service, /^ready/m, [
        ...[process.execPath, join(SCENE, 'balancer-process.ts'), `${this.#service.address}:${API_PORT}`],
        ...servers,
      ]),
      this.#startServer('store', first, /^ready/m, [
        ...[process.execPath, join(SCENE, 'store-process.ts'), store, first.address, String(STORE_PORT)],
      ]),
      this.#startServer('redis', first, /ready to accept connections/i, [
        ...['redis-server', '--bind', first.address, '--protected-mode', 'no', '--save', ''],
        ...['--appendonly', 'no'],
      ]),
      this.#startServer('livekit', first, /starting LiveKit server/, ['livekit-server', '--config', livekit]),
    ]);
  }

  async #startServer(name: string, host: Host, ready: RegExp, words: readonly string[]): Promise<void> {
    const program = new RunningProgram([...host.within, ...words], { cwd: ROOT, env: process.env });
    this.#programs.push({ name, program });
    await program.printed(ready);
  }

  #pod(
    kind: string,
    workloadName: string,
    { host, ordinal, port, ready }: { host: Host; ordinal: number; port: number; ready: string },
  ): Pod {
    const workload = this.#chart.get(kind, workloadName);
    const name = `${workloadName}-${ordinal}`;
    const environment = this.#mounts.environmentOf(workload, { ordinal, address: host.address });
    const command = containerOf(workload).command.map((word) => this.#mounts.here(word));
    // The names of the cluster, in a mount namespace of the pod's own.
    const within = ['unshare', '--mount', 'sh', '-c', 'mount --bind "$0" /etc/hosts && exec "$@"'];
    const run = () => {
      const program = new RunningProgram(
        [...host.within, ...within, join(this.#folder, 'hosts'), ...command],
        {
          cwd: ROOT,
          env: {
            PATH: `${join(ROOT, 'node_modules/.bin')}:${process.env['PATH']}`,
            HOME: process.env['HOME'],
            ...environment,
            DATA_DIR: join(this.#folder, name),
          },
        },
      );
      this.#programs.push({ name, program });
      return program;
    };
    const pod: Pod = {
      ...{ name, ready, address: `${host.address}:${port}`, program: run() },
      start() {
        pod.program = run();
      },
    };
    return pod;
  }
}
