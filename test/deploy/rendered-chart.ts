/** The chart as Helm renders it, and its pods as a kubelet would start them. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { parseAllDocuments } from 'yaml';

export const CHART = join(import.meta.dirname, '../../deploy/chart');
/** As main.ts has it. */
const COMPILE_CACHE = join(import.meta.dirname, '../../node_modules/.cache/parley');

/** Labels of an object. */
export interface Labels {
  readonly [name: string]: string;
}

interface Selector {
  readonly matchLabels: Labels;
}

interface EnvVar {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly fieldRef?: { readonly fieldPath: string };
    readonly secretKeyRef?: { readonly name: string; readonly key: string };
  };
}

/** How the kubelet asks a container. */
export interface Probe {
  readonly httpGet?: { readonly path: string; readonly port: number | string; readonly host?: string };
  readonly exec?: { readonly command: readonly string[] };
  readonly periodSeconds: number;
  readonly failureThreshold: number;
  readonly terminationGracePeriodSeconds?: number;
}

interface Container {
  readonly name: string;
  readonly image: string;
  readonly command: readonly string[];
  readonly env: readonly EnvVar[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly startupProbe: Probe;
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
  readonly securityContext: {
    readonly allowPrivilegeEscalation: boolean;
    readonly readOnlyRootFilesystem: boolean;
    readonly capabilities: { readonly drop: readonly string[]; readonly add?: readonly string[] };
  };
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}

interface Volume {
  readonly name: string;
  readonly secret?: { readonly secretName: string; readonly items?: readonly { readonly key: string }[] };
  readonly configMap?: { readonly name: string };
}

interface PodSpec {
  readonly hostNetwork?: boolean;
  readonly dnsPolicy?: string;
  readonly automountServiceAccountToken: boolean;
  readonly terminationGracePeriodSeconds: number;
  readonly securityContext: {
    readonly runAsNonRoot?: boolean;
    readonly runAsUser: number;
    readonly seccompProfile: { readonly type: string };
  };
  readonly affinity?: {
    readonly podAntiAffinity: {
      readonly requiredDuringSchedulingIgnoredDuringExecution: readonly {
        readonly topologyKey: string;
        readonly labelSelector: Selector;
      }[];
    };
  };
  readonly containers: readonly Container[];
  readonly volumes: readonly Volume[];
}

interface NetworkPeer {
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] };
  readonly podSelector?: Selector;
}

/** A rendered object, with the fields that tests look at; those of other kinds are absent. */
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels: Labels; readonly annotations?: Labels };
  /** Of a ConfigMap. */
  readonly data: { readonly [file: string]: string };
  readonly spec: {
    readonly replicas?: number;
    readonly minReplicas?: number;
    readonly progressDeadlineSeconds?: number;
    readonly serviceName?: string;
    readonly podManagementPolicy?: string;
    readonly updateStrategy?: { readonly type: string };
    readonly strategy?: { readonly type: string };
    readonly template: { readonly metadata: { readonly labels: Labels }; readonly spec: PodSpec };
    readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[];
    /** Of a Service, the labels themselves. */
    readonly selector: Selector;
    readonly publishNotReadyAddresses?: boolean;
    readonly clusterIP?: string;
    readonly ports?: readonly {
      readonly name: string;
      readonly port: number;
      readonly targetPort?: number | string;
      readonly appProtocol?: string;
    }[];
    readonly podSelector: Selector;
    readonly ingress?: readonly {
      readonly ports: readonly { readonly port: number | string }[];
      readonly from?: readonly NetworkPeer[];
    }[];
    readonly scaleTargetRef?: { readonly kind: string; readonly name: string };
    readonly maxUnavailable?: number;
  };
}

/** Values of the chart, beside those of an example. */
export type Values = Readonly<Record<string, unknown>>;

/** The least that every installation must say. */
export const REQUIRED: Values = {
  publicUrl: 'https://parley.example.com',
  secrets: { existingSecret: 'parley' },
};

/** Arguments of `render-chart` (kubernetes-objects/render-chart), which also reads values from its input. */
export function renderArguments(example?: string): string[] {
  const files = example === undefined ? [] : [join(CHART, 'values', `${example}.yaml`)];
  return [CHART, 'parley', 'calls', ...files];
}

/** Renders the chart with Helm's engine in the namespace `calls`; `example` names a file of values/. */
export function renderChart(
  values: Values,
  example?: string,
): { readonly status: number | null; readonly out: string; readonly problem: string } {
  const { status, stdout, stderr } = spawnSync('render-chart', renderArguments(example), {
    encoding: 'utf8',
    input: JSON.stringify(values),
    maxBuffer: 1 << 26,
  });
  return { status, out: stdout, problem: stderr };
}

/** Renders the chart to YAML; throws with Helm's message. */
export function renderText(values: Values = {}, example?: string): string {
  const { status, out, problem } = renderChart({ ...REQUIRED, ...values }, example);
  if (status !== 0) throw new Error(problem);
  return out;
}

/** The objects of rendered YAML; throws if it is none. */
export function parseObjects(text: string): readonly KubernetesObject[] {
  return parseAllDocuments(text)
    .map((document) => {
      const [problem] = document.errors;
      if (problem) throw problem;
      return document.toJS() as KubernetesObject | null;
    })
    .filter((object) => object !== null);
}

/** A rendered chart. */
export class RenderedChart {
  readonly objects: readonly KubernetesObject[];

  constructor(values: Values = {}, example?: string) {
    this.objects = parseObjects(renderText(values, example));
  }

  ofKind(kind: string): readonly KubernetesObject[] {
    return this.objects.filter((object) => object.kind === kind);
  }

  /** The only object of this kind and name. */
  get(kind: string, name: string): KubernetesObject {
    const found = this.ofKind(kind).find(({ metadata }) => metadata.name === name);
    if (!found) throw new Error(`no ${kind} ${name}`);
    return found;
  }

  /** Everything that makes pods. */
  get workloads(): readonly KubernetesObject[] {
    return [...this.ofKind('Deployment'), ...this.ofKind('StatefulSet')];
  }

  /** Those with pods of the product's image. */
  get parts(): readonly KubernetesObject[] {
    return this.workloads.filter(({ metadata }) => !metadata.name.endsWith('-relay'));
  }
}

/** The only container of a workload. */
export function containerOf(workload: KubernetesObject): Container {
  return workload.spec.template.spec.containers[0]!;
}

/** All of `wanted` are among `labels`. */
export function matches(wanted: Labels, labels: Labels): boolean {
  return Object.entries(wanted).every(([name, value]) => labels[name] === value);
}

/** A pod of a workload on a node. */
export interface Place {
  /** Number of the pod. Default 0. */
  readonly ordinal?: number;
  /** Default `10.0.0.1`. */
  readonly address?: string;
  /** Default `node-1`. */
  readonly node?: string;
}

/** The operator's key in the Secret. */
export const ROOT_API_KEY = 'the-key-of-the-operator';

/** Values for the keys of the Secret; keys without one of their own get a random-looking text. */
const SECRETS: Readonly<Record<string, string>> = {
  MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
  MONGODB_URL: 'mongodb://mongodb.example.com/parley?replicaSet=rs0',
  REDIS_URL: 'redis://redis.example.com',
  MASTER_KEY_OLD: Buffer.alloc(32, 6).toString('base64'),
  ICE_SERVERS: '[{"urls":"stun:stun.example.com:3478"}]',
  ROOT_API_KEY,
};

/** Mounted Secret and scripts of a chart, in a folder of this machine. */
export class Mounts {
  readonly #folder = mkdtempSync(join(tmpdir(), 'parley-chart-'));
  readonly #secrets: Readonly<Record<string, string>>;

  /** `secrets`: values for keys of the Secret, where a test needs certain ones. */
  constructor(chart: RenderedChart, secrets: Readonly<Record<string, string>> = {}) {
    this.#secrets = { ...SECRETS, ...secrets };
    const scripts = chart.get('ConfigMap', 'parley-scripts');
    for (const [file, text] of Object.entries(scripts.data)) writeFileSync(join(this.#folder, file), text);
  }

  /** A path or a word of a pod as one of this machine; files of the Secret appear when they are named. */
  here(text: string): string {
    const secret = /^\/run\/parley\/secrets\/(?<key>\w+)$/.exec(text)?.groups?.['key'];
    if (secret !== undefined) writeFileSync(join(this.#folder, secret), this.#secretValue(secret));
    return text
      .replace('/run/parley/secrets', this.#folder)
      .replace('/etc/parley', this.#folder)
      .replace('/tmp/node-compile-cache', process.env['NODE_COMPILE_CACHE'] ?? COMPILE_CACHE)
      .replace(/^\/data$/, join(this.#folder, 'data'));
  }

  /** The environment that a kubelet gives the container. */
  environmentOf(workload: KubernetesObject, place: Place = {}): Record<string, string> {
    const { ordinal = 0, address = '10.0.0.1', node = 'node-1' } = place;
    const fields: Readonly<Record<string, string>> = {
      'status.podIP': address,
      'spec.nodeName': node,
      'metadata.name': `${workload.metadata.name}-${ordinal}`,
    };
    const valueFor = ({ name, value, valueFrom }: EnvVar) => {
      if (value !== undefined) return this.here(value);
      const { fieldRef, secretKeyRef } = valueFrom ?? {};
      if (secretKeyRef) return this.#secretValue(secretKeyRef.key);
      const field = fields[fieldRef?.fieldPath ?? ''];
      if (field === undefined) throw new Error(`${name}: no such field`);
      return field;
    };
    return Object.fromEntries(containerOf(workload).env.map((entry) => [entry.name, valueFor(entry)]));
  }

  /**
   * The environment that the command of a container gives Node: that of the kubelet, completed by start.sh.
   * Throws with its message if it refuses to start.
   */
  environmentAtStart(workload: KubernetesObject, place: Place = {}): Record<string, string> {
    const environment = this.environmentOf(workload, place);
    const script = containerOf(workload).command.find((word) => word.endsWith('/start.sh'));
    if (script === undefined) return environment;
    const { status, stdout, stderr } = spawnSync(
      'sh',
      [this.here(script), '--print', 'JSON.stringify(process.env)'],
      { encoding: 'utf8', env: { PATH: process.env['PATH'], ...environment } },
    );
    if (status !== 0) throw new Error(stderr);
    return JSON.parse(stdout) as Record<string, string>;
  }

  close(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #secretValue(key: string): string {
    return this.#secrets[key] ?? `a value of the tests for ${key}`;
  }
}

/** Mounts of a chart until the end of the test. */
export function mount(chart: RenderedChart): Mounts {
  const mounts = new Mounts(chart);
  onTestFinished(() => mounts.close());
  return mounts;
}
