import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SETTING_NAMES, signallingServers } from '#config/env.ts';
import { FILE_SETTINGS, readSettingsAndFiles } from '#config/secret-files.ts';
import { isSecretName } from '#config/secret-name.ts';
import { WITHHELD_SETTINGS } from '#processes/withheld-settings.ts';
import { describeWhereThere } from '#test/needs.ts';
import {
  CHART,
  containerOf,
  type KubernetesObject,
  type Labels,
  matches,
  mount,
  type Probe,
  RenderedChart,
  renderText,
  type Values,
} from './rendered-chart.ts';

const BUCKET = { BLOBS_URL: 's3://parley?endpoint=https://s3.example.com' };
const PEER = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } };
const SCHEDULING = {
  nodeSelector: { role: 'voice' },
  tolerations: [{ key: 'voice', operator: 'Exists' }],
  priorityClassName: 'high',
  podAnnotations: { team: 'voice' },
};
/** As many options at once as go together. */
const EVERYTHING: Values = {
  imagePullSecrets: [{ name: 'registry' }],
  env: { LOG_LEVEL: 'debug', OTEL_SERVICE_NAME: 'parley', LIMIT_STORED_BYTES: 500_000_000 },
  secrets: { existingSecret: 'parley', keys: ['OPENAI_API_KEY', 'ICE_SERVERS'] },
  network: { publicIps: { 'node-1': '203.0.113.1', 'node-2': '203.0.113.2' } },
  sip: { tlsSecret: 'sip-tls', trusted: ['198.51.100.0/24', '198.51.101.1'] },
  livekit: { url: 'wss://livekit.example.com' },
  controlPlane: {
    strategy: 'RollingUpdate',
    env: { ...BUCKET, PRICE_CALL_PER_MINUTE: 0.05 },
    secretKeys: ['MONGODB_URL', 'REDIS_URL', 'AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'MASTER_KEY_OLD'],
    tlsSecret: 'parley-tls',
    service: { type: 'LoadBalancer', port: 443, annotations: { internal: 'true' } },
    ...SCHEDULING,
  },
  worker: {
    env: { EGRESS_ALLOW: '10.0.0.0/8' },
    secretKeys: ['DEEPGRAM_API_KEY'],
    onePerNode: false,
    realtime: true,
    hold: true,
    autoscaling: { enabled: true },
    ...SCHEDULING,
  },
  signalling: { env: { SIP_DIGEST: 'MD5' }, hold: true, ...SCHEDULING },
  relay: { enabled: true, image: { repository: 'rtpengine', tag: '10.5' }, ...SCHEDULING },
  ingress: { enabled: true, className: 'nginx', annotations: { a: 'b' }, tlsSecret: 'tls' },
  metrics: { enabled: true, podMonitor: { enabled: true, labels: { release: 'prometheus' } } },
  networkPolicy: { enabled: true, nodeCidrs: ['10.0.0.0/24'], clients: [PEER], monitoring: [PEER] },
};
const POD_NETWORK: Values = {
  ...EVERYTHING,
  network: {},
  worker: { hostNetwork: false, persistence: { enabled: false } },
};
const NO_PHONE: Values = { sip: { mode: 'none' }, controlPlane: { env: BUCKET } };

const CHARTS: readonly (readonly [string, Values, string | undefined])[] = [
  ['one node', {}, 'one-node'],
  ['three nodes', {}, 'three-nodes'],
  ['services of one’s own', {}, 'own-services'],
  ['every option', EVERYTHING, undefined],
  ['workers on the pods’ network', POD_NETWORK, undefined],
  ['no phone calls', NO_PHONE, undefined],
];

function rolesOf(workload: KubernetesObject): string {
  return workload.metadata.name.replace('parley-', '');
}

/** Command, or port and path, of a probe. */
function probeAddress(part: KubernetesObject, { exec, httpGet }: Probe): string {
  if (exec) return exec.command.join(' ');
  const declared = (containerOf(part).ports ?? []).find(({ name }) => name === httpGet?.port);
  return `${declared?.containerPort ?? httpGet?.port}${httpGet?.path}`;
}

/** The labels of the pods that an object selects; null if it selects none. */
function labelsWantedBy({ kind, spec }: KubernetesObject): Labels | null {
  if (kind === 'NetworkPolicy') return spec.podSelector.matchLabels;
  if (spec?.selector === undefined) return null;
  return kind === 'Service' ? (spec.selector as unknown as Labels) : spec.selector.matchLabels;
}

/** Ports of pods to which a Service or a NetworkPolicy refers by name. */
function portsNamedBy({ spec }: KubernetesObject): string[] {
  const targets = (spec.ports ?? []).map(({ targetPort }) => targetPort);
  const allowed = (spec.ingress ?? []).flatMap(({ ports }) => ports.map(({ port }) => port));
  return [...targets, ...allowed].filter((port) => typeof port === 'string');
}

describeWhereThere(['render-chart', 'kubernetes-objects'])('the chart and the Kubernetes API', () => {
  it.each(CHARTS)('every object for %s has known fields only, of the right types', (_, values, example) => {
    const { status, stdout, stderr } = spawnSync('kubernetes-objects', {
      encoding: 'utf8',
      input: renderText(values, example),
    });
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout.split('\n')).toContain('Deployment parley-control-plane');
  });

  it('the reader of objects refuses an unknown field, a wrong type, a repeated field and an unknown kind', () => {
    const problems = [
      'apiVersion: v1\nkind: Service\nmetadata: { name: a }\nspec: { port: 1 }\n',
      'apiVersion: v1\nkind: Service\nmetadata: { name: a }\nspec: { publishNotReadyAddresses: "no" }\n',
      'apiVersion: v1\nkind: Service\nmetadata: { name: a, name: b }\n',
      'apiVersion: v1\nkind: Servant\nmetadata: { name: a }\n',
    ].map((input) => spawnSync('kubernetes-objects', { encoding: 'utf8', input }).status);
    expect(problems).toEqual([1, 1, 1, 1]);
  });
});

describeWhereThere(['render-chart'])('the chart', () => {
  it('has the version of the product, and its image is tagged with it', () => {
    const { version } = JSON.parse(readFileSync(join(CHART, '../../package.json'), 'utf8')) as {
      readonly version: string;
    };
    const images = new RenderedChart({}, 'one-node').parts.map((part) => containerOf(part).image);
    expect(images).toEqual(Array<string>(3).fill(`parley:${version}`));
  });

  it('knows every setting', () => {
    const known = readFileSync(join(CHART, 'files/settings.txt'), 'utf8').trim().split('\n');
    expect(known).toEqual([...SETTING_NAMES, 'AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'].sort());
  });

  it('starts each part as npm does', () => {
    const { scripts } = JSON.parse(readFileSync(join(CHART, '../../package.json'), 'utf8')) as {
      readonly scripts: Readonly<Record<string, string>>;
    };
    for (const part of new RenderedChart({}, 'three-nodes').parts) {
      const command = containerOf(part)
        .command.join(' ')
        .replace('tini -- ', '')
        .replace('sh /etc/parley/start.sh', 'node');
      expect(`exec ${command}`).toBe(scripts[`start:${rolesOf(part)}`]);
    }
  });

  describe.each(CHARTS)('for %s', (_, values, example) => {
    it('every part starts with settings that the product accepts', () => {
      const chart = new RenderedChart(values, example);
      const mounts = mount(chart);
      for (const part of chart.parts) {
        const environment = mounts.environmentAtStart(part);
        expect(() => readSettingsAndFiles(environment)).not.toThrow();
      }
    });

    it('every variable is a setting, its file, or known to the script that starts a part', () => {
      const known = new Set([
        ...SETTING_NAMES,
        ...FILE_SETTINGS.map((name) => `${name}_FILE`),
        ...['AWS_ACCESS_KEY_ID', 'NODE_COMPILE_CACHE', 'NODE_EXTRA_CA_CERTS', 'OTEL_SERVICE_NAME'],
        ...['ADDRESS', 'NODE', 'POD', 'PUBLIC_IPS', 'PORTS_EACH', 'RELAYED'].map((name) => `CHART_${name}`),
      ]);
      const chart = new RenderedChart(values, example);
      const names = chart.parts.flatMap((part) => containerOf(part).env.map(({ name }) => name));
      expect(names.filter((name) => !known.has(name))).toEqual([]);
    });

    it('security 17: no secret is in an object, and only control planes get those of control planes', () => {
      const chart = new RenderedChart(values, example);
      expect(chart.ofKind('Secret')).toEqual([]);
      for (const part of chart.parts) {
        const { env } = containerOf(part);
        expect(env.filter(({ name, value }) => isSecretName(name) && value !== undefined)).toEqual(
          env.filter(({ name }) => ['TLS_KEY', 'SIP_TLS_KEY'].includes(name)),
        );
        const { volumes } = part.spec.template.spec;
        const mountedKeys = volumes.flatMap(({ secret }) => (secret?.items ?? []).map(({ key }) => key));
        const referred = env.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef?.key ?? []);
        expect([...mountedKeys.filter((key) => key !== 'ca.crt'), ...referred].sort()).toEqual(
          env
            .flatMap(({ name, value, valueFrom }) =>
              value?.startsWith('/run/parley/secrets/') || valueFrom?.secretKeyRef
                ? name.replace(/_FILE$/, '')
                : [],
            )
            .sort(),
        );
        if (rolesOf(part) === 'control-plane') continue;
        const withheld = WITHHELD_SETTINGS.flatMap((name) => [name, `${name}_FILE`]) as readonly string[];
        expect(env.filter(({ name }) => withheld.includes(name))).toEqual([]);
      }
    });

    it('every part has probes at its own health port; a worker may drain for longer than its calls need', () => {
      const chart = new RenderedChart(values, example);
      const mounts = mount(chart);
      for (const part of chart.parts) {
        const { startupProbe, livenessProbe, readinessProbe } = containerOf(part);
        const settings = readSettingsAndFiles(mounts.environmentAtStart(part));
        const own = rolesOf(part) === 'control-plane' ? settings.PORT : settings.HEALTH_PORT;
        const addresses = [startupProbe, livenessProbe, readinessProbe].map((probe) =>
          probeAddress(part, probe),
        );
        // A control plane is ready without a worker: workers could not reach the first one otherwise.
        const ready = rolesOf(part) === 'control-plane' ? '/readyz/requests' : '/readyz';
        expect(addresses).toEqual(
          ['/healthz', '/healthz', ready].map((path) =>
            livenessProbe.exec ? `bash /etc/parley/health.sh ${path}` : `${own}${path}`,
          ),
        );
        // A hung process would otherwise be given the time of a drain.
        expect(livenessProbe.terminationGracePeriodSeconds).toBeLessThanOrEqual(15);
        if (rolesOf(part) === 'worker')
          expect(part.spec.template.spec.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(
            settings.DRAIN_SECONDS + 30,
          );
      }
    });

    it('every selector finds the pods of one part, and every named port is one of theirs', () => {
      const chart = new RenderedChart(values, example);
      const pods = chart.workloads.map(({ spec }) => spec.template);
      for (const object of chart.objects) {
        const labels = labelsWantedBy(object);
        if (labels === null) continue;
        const chosen = pods.filter((pod) => matches(labels, pod.metadata.labels));
        expect([object.kind, object.metadata.name, chosen.length]).toEqual([
          object.kind,
          object.metadata.name,
          1,
        ]);
        const ports = (chosen[0]!.spec.containers[0]!.ports ?? []).map(({ name }) => name);
        expect(ports).toEqual(expect.arrayContaining(portsNamedBy(object)));
      }
    });

    it('every volume is mounted, and every StatefulSet has the Service that names its pods', () => {
      const chart = new RenderedChart(values, example);
      for (const { spec } of chart.workloads) {
        const volumes = [
          ...spec.template.spec.volumes,
          ...(spec.volumeClaimTemplates ?? []).map(({ metadata }) => metadata),
        ].map(({ name }) => name);
        const mounts = spec.template.spec.containers[0]!.volumeMounts.map(({ name }) => name);
        expect(mounts.sort()).toEqual(volumes.sort());
        if (spec.serviceName !== undefined)
          expect(chart.get('Service', spec.serviceName).spec.clusterIP).toBe('None');
      }
    });

    it('security 17: no process may gain rights, write to its image or call the Kubernetes API', () => {
      for (const workload of new RenderedChart(values, example).workloads) {
        const { securityContext: pod, automountServiceAccountToken } = workload.spec.template.spec;
        const { securityContext } = containerOf(workload);
        const isRealtime = securityContext.capabilities.add !== undefined;
        expect(securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'], ...(isRealtime ? { add: ['SYS_NICE'] } : {}) },
        });
        expect(pod.seccompProfile.type).toBe('RuntimeDefault');
        expect(pod.runAsNonRoot === true && pod.runAsUser !== 0).toBe(!isRealtime);
        expect(automountServiceAccountToken).toBe(false);
      }
    });

    it('one pod of each part may be away at a time', () => {
      const chart = new RenderedChart(values, example);
      const budgets = chart.ofKind('PodDisruptionBudget');
      expect(budgets.map(({ metadata }) => metadata.name).sort()).toEqual(
        chart.workloads.map(({ metadata }) => metadata.name).sort(),
      );
      expect(budgets.map(({ spec }) => spec.maxUnavailable)).toEqual(budgets.map(() => 1));
    });
  });

  it('workers that share a node have media and health ports of their own', () => {
    const chart = new RenderedChart({ worker: { replicas: 10 } }, 'one-node');
    const mounts = mount(chart);
    const workers = Array.from({ length: 10 }, (_, ordinal) =>
      readSettingsAndFiles(mounts.environmentAtStart(chart.get('StatefulSet', 'parley-worker'), { ordinal })),
    );
    const ports = workers.flatMap(({ RTP_PORT_MIN: first, RTP_PORT_MAX: last }) =>
      Array.from({ length: last - first + 1 }, (_, index) => first + index),
    );
    expect(ports.length).toBe(10_000);
    expect(new Set(ports).size).toBe(10_000);
    expect([Math.min(...ports), Math.max(...ports)]).toEqual([20_000, 29_999]);
    expect(new Set(workers.map(({ HEALTH_PORT: port }) => port)).size).toBe(10);
  });

  it.each(['worker', 'signalling'])('two pods of %s with the same ports are never on one node', (role) => {
    const { metadata, spec } = new RenderedChart({}, 'three-nodes').get('StatefulSet', `parley-${role}`);
    expect(spec.template.spec.hostNetwork).toBe(true);
    expect(metadata.name).toBe(`parley-${role}`);
    const rules = spec.template.spec.affinity?.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution;
    expect(rules?.map(({ topologyKey }) => topologyKey)).toEqual(['kubernetes.io/hostname']);
    expect(matches(rules![0]!.labelSelector.matchLabels, spec.template.metadata.labels)).toBe(true);
  });

  it('workers reach control planes and signalling that wait for them', () => {
    const chart = new RenderedChart({}, 'three-nodes');
    const settings = readSettingsAndFiles(
      mount(chart).environmentAtStart(chart.get('StatefulSet', 'parley-worker')),
    );
    const hosts = [
      new URL(settings.CONTROL_PLANE_URL ?? '').hostname,
      ...signallingServers(settings).map(({ host }) => host),
    ];
    expect(hosts).toEqual([
      'parley-link.calls.svc',
      'parley-signalling-0.parley-signalling.calls.svc',
      'parley-signalling-1.parley-signalling.calls.svc',
    ]);
    for (const service of ['parley-link', 'parley-signalling'])
      expect(chart.get('Service', service).spec.publishNotReadyAddresses).toBe(true);
    expect(chart.get('Service', 'parley').spec.publishNotReadyAddresses).toBeUndefined();
    // Cold starts wait for nobody; updates go one after the other.
    for (const name of ['parley-worker', 'parley-signalling'])
      expect(chart.get('StatefulSet', name).spec).toMatchObject({
        podManagementPolicy: 'Parallel',
        updateStrategy: { type: 'RollingUpdate' },
      });
  });

  it('health ports are on the loopback unless metrics are on', () => {
    for (const [enabled, host] of [
      [false, '127.0.0.1'],
      [true, '10.0.0.1'],
    ] as const) {
      const chart = new RenderedChart({ metrics: { enabled } }, 'three-nodes');
      const worker = chart.get('StatefulSet', 'parley-worker');
      expect(mount(chart).environmentOf(worker)['HEALTH_HOST']).toBe(host);
      expect(containerOf(worker).livenessProbe.httpGet?.host).toBe(enabled ? undefined : host);
    }
  });

  it('nodes and named clients reach control planes, and nobody reaches the addresses of clouds’ credentials', () => {
    const chart = new RenderedChart({}, 'three-nodes');
    const { ingress } = chart.get('NetworkPolicy', 'parley-control-plane').spec;
    expect(ingress?.flatMap(({ from }) => from ?? [])).toEqual([
      { ipBlock: { cidr: '10.0.0.0/24' } },
      { podSelector: { matchLabels: expect.objectContaining({ 'app.kubernetes.io/component': 'worker' }) } },
      expect.objectContaining({ namespaceSelector: expect.anything() }),
      expect.objectContaining({ namespaceSelector: expect.anything() }),
    ]);
    expect(renderText({}, 'three-nodes')).toContain('169.254.169.254/32');
  });

  it('held parts stay as they are until their pods are deleted', () => {
    const chart = new RenderedChart({ worker: { hold: true }, signalling: { hold: true } }, 'three-nodes');
    for (const name of ['parley-worker', 'parley-signalling'])
      expect(chart.get('StatefulSet', name).spec.updateStrategy).toEqual({ type: 'OnDelete' });
  });
});
