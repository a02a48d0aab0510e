/**
 * Journey: the parts of a one-node installation, started with the commands, environments and probes of the
 * chart, as a kubelet does, on the loopback.
 */
import { spawnSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freeTcpPort } from '#test/free-port.ts';
import { ASKED_AND_ANSWERED, callAndListen } from '#test/journeys/asked-by-phone.ts';
import { Installation } from '#test/journeys/installation.ts';
import { RunningProgram } from '#test/journeys/program.ts';
import { greetWith } from '#test/journeys/tenant.ts';
import { GREETING } from '#test/journeys/web-conversation.ts';
import { describeWhereThere } from '#test/needs.ts';
import { containerOf, type KubernetesObject, Mounts, RenderedChart, ROOT_API_KEY } from './rendered-chart.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const NODE = '127.0.0.1';
const API_PORT = 8_080;

interface Pod {
  readonly program: RunningProgram;
  readonly environment: Readonly<Record<string, string>>;
  readonly workload: KubernetesObject;
}

/** A node with the pods of a chart. */
class Node extends Installation {
  readonly url: string;
  readonly sipPort: number;
  readonly rootKey = ROOT_API_KEY;
  readonly number = '+15550100000';
  readonly #chart: RenderedChart;
  readonly #mounts: Mounts;
  readonly #apiPort: number;
  readonly #pods: Pod[] = [];

  constructor(chart: RenderedChart, ports: { readonly api: number; readonly sip: number }) {
    super();
    this.#chart = chart;
    this.#mounts = new Mounts(chart);
    this.#apiPort = ports.api;
    this.url = `http://${NODE}:${ports.api}`;
    this.sipPort = ports.sip;
  }

  /** Starts a pod of a workload; one with the same number has the same data. */
  start(kind: string, name: string, ordinal = 0): Pod {
    const workload = this.#chart.get(kind, name);
    const place = { ordinal, address: NODE };
    const here = Object.entries(this.#mounts.environmentOf(workload, place)).map(([key, value]) => [
      key,
      this.#onThisMachine(value),
    ]);
    const environment: Record<string, string> = {
      PATH: `${join(ROOT, 'node_modules/.bin')}:${process.env['PATH']}`,
      HOME: process.env['HOME'] ?? '',
      ...Object.fromEntries(here),
    };
    // Pods have volumes of their own.
    if (environment['DATA_DIR'] !== undefined) environment['DATA_DIR'] += `-${name}-${ordinal}`;
    const command = containerOf(workload).command.map((word) => this.#mounts.here(word));
    const pod = {
      program: new RunningProgram(command, { cwd: ROOT, env: environment }),
      environment,
      workload,
    };
    this.#pods.push(pod);
    return pod;
  }

  /** What the kubelet learns from a probe of the pod. */
  async isHealthy(
    { workload, environment }: Pod,
    probe: 'livenessProbe' | 'readinessProbe',
  ): Promise<boolean> {
    const container = containerOf(workload);
    const { exec, httpGet } = container[probe];
    if (exec) {
      const [command = '', ...words] = exec.command.map((word) => this.#mounts.here(word));
      return spawnSync(command, words, { env: environment, timeout: 5_000 }).status === 0;
    }
    const port = container.ports?.find(({ name }) => name === httpGet?.port)?.containerPort ?? httpGet?.port;
    const answer = await fetch(
      `http://${httpGet?.host ?? NODE}:${port === API_PORT ? this.#apiPort : port}${httpGet?.path}`,
    ).catch(() => null);
    return answer?.ok === true;
  }

  ready(what: string, pod: Pod): Promise<void> {
    return this.until(`${what} is ready`, () => this.isHealthy(pod, 'readinessProbe'));
  }

  async close(): Promise<void> {
    for (const { program } of this.#pods) program.signalTree('SIGKILL');
    await Promise.all(this.#pods.map(({ program }) => program.close()));
    this.#mounts.close();
  }

  protected get lastOutput(): string {
    return this.#pods.map(({ program }) => `\n---\n${program.output.slice(-3_000)}`).join('');
  }

  /** Names of the cluster lead to this machine, and the API has a free port. */
  #onThisMachine(value: string): string {
    return value
      .replaceAll(/[a-z0-9.-]+\.calls\.svc/g, NODE)
      .replace(new RegExp(`(^|${NODE}:)${API_PORT}$`), `$1${this.#apiPort}`);
  }
}

/** A free port after which others may be free: workers add their numbers to a multiple of ten. */
async function freeRound(): Promise<number> {
  for (;;) {
    const port = await freeTcpPort();
    if (port % 10 === 0) return port;
  }
}

let node: Node;
let control: Pod;
let signalling: Pod;
const workers: Pod[] = [];

describeWhereThere(['render-chart', 'tini'])('the parts of a one-node installation', () => {
  beforeAll(async () => {
    const [api, sip, app, health] = await Promise.all(Array.from({ length: 4 }, freeTcpPort));
    const chart = new RenderedChart(
      {
        env: { LOCAL_LLM_URL: 'off' },
        sip: { port: sip!, workerPort: app!, trusted: ['127.0.0.0/8'] },
        worker: {
          drainSeconds: 60,
          maxCalls: 50,
          healthPort: await freeRound(),
          rtp: { first: 39_600, last: 39_799, portsEach: 100 },
        },
        signalling: { healthPort: health! },
      },
      'one-node',
    );
    node = new Node(chart, { api: api!, sip: sip! });
    // Workers and signalling first: nobody may need another part to be ready before it starts.
    workers.push(
      node.start('StatefulSet', 'parley-worker', 0),
      node.start('StatefulSet', 'parley-worker', 1),
    );
    signalling = node.start('StatefulSet', 'parley-signalling');
    control = node.start('Deployment', 'parley-control-plane');
  }, 120_000);
  afterAll(() => node?.close());

  it('all start together, in any order, and become ready', { timeout: 120_000 }, async () => {
    for (const pod of [control, signalling, ...workers]) {
      await node.ready(pod.workload.metadata.name, pod);
      expect(await node.isHealthy(pod, 'livenessProbe')).toBe(true);
    }
  });

  it('an update of one worker after the other ends no call, and none is ready while it drains', {
    timeout: 240_000,
  }, async () => {
    await greetWith(node, GREETING);
    const phone = await callAndListen(node, '+15557650002');
    await phone.ask();
    // As a StatefulSet does: the highest number first, each once the one before is ready.
    for (const ordinal of [1, 0]) {
      const old = workers[ordinal]!;
      old.program.signal('SIGTERM');
      await node.until('it is no longer ready', async () => !(await node.isHealthy(old, 'readinessProbe')));
      expect(await old.program.ended()).toBe(0);
      workers[ordinal] = node.start('StatefulSet', 'parley-worker', ordinal);
      await node.ready('the new worker', workers[ordinal]!);
    }
    await phone.ask();
    await phone.hangUp();
    await node.until('the call is settled', async () => (await phone.call()).status === 'completed');
    expect(await phone.call()).toMatchObject({
      end_reason: 'user_hangup',
      said: [`assistant: ${GREETING}`, ...ASKED_AND_ANSWERED, ...ASKED_AND_ANSWERED],
    });
  });
});
