/** How many workers the chart starts, and how long it lets a rollout take. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { describeWhereThere } from '#test/needs.ts';
import {
  containerOf,
  type KubernetesObject,
  parseObjects,
  REQUIRED,
  RenderedChart,
  renderArguments,
  type Values,
} from './rendered-chart.ts';

const WORKER = 'parley-worker';

function autoscaling(replicas: number): Values {
  return {
    worker: { replicas, autoscaling: { enabled: true, minReplicas: 2, maxReplicas: 6 } },
    metrics: { enabled: true },
  };
}

function workerOf(objects: RenderedChart['objects']): KubernetesObject | undefined {
  return objects.find(({ kind, metadata }) => kind === 'StatefulSet' && metadata.name === WORKER);
}

/** Responses of an API server, by path, from which `lookup` reads that `replicas` workers run. */
function answers(running: KubernetesObject | undefined, replicas: number): Readonly<Record<string, unknown>> {
  return {
    '/apis/apps/v1': {
      kind: 'APIResourceList',
      groupVersion: 'apps/v1',
      resources: [{ name: 'statefulsets', kind: 'StatefulSet', namespaced: true, verbs: ['get'] }],
    },
    [`/apis/apps/v1/namespaces/calls/statefulsets/${WORKER}`]: {
      ...running,
      spec: { ...running?.spec, replicas },
    },
  };
}

/** Number of workers that an upgrade renders while `running` are there; Helm asks an API server. */
async function workersAfterUpgrade(values: Values, running: number): Promise<number | undefined> {
  const known = answers(workerOf(new RenderedChart(values, 'one-node').objects), running);
  const server = createServer(({ url = '' }, response) => {
    const answer = known[url.split('?')[0] ?? ''];
    response
      .writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' })
      .end(JSON.stringify(answer ?? { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 404 }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const api = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const renderer = spawn('render-chart', renderArguments('one-node'), {
      env: { ...process.env, KUBE_APISERVER: api },
    });
    renderer.stdin.end(JSON.stringify({ ...REQUIRED, ...values }));
    const [out, problem] = await Promise.all([text(renderer.stdout), text(renderer.stderr)]);
    if (out === '') throw new Error(problem);
    return workerOf(parseObjects(out))?.spec.replicas;
  } finally {
    server.close();
  }
}

describeWhereThere(['render-chart'])('the chart', () => {
  it.each([
    [1, 2],
    [4, 4],
    [9, 6],
  ])(
    'with autoscaling, an installation with %i workers starts %i, within the limits',
    (replicas, started) => {
      const chart = new RenderedChart(autoscaling(replicas), 'one-node');
      expect(workerOf(chart.objects)?.spec.replicas).toBe(started);
      const scaler = chart.get('HorizontalPodAutoscaler', WORKER);
      expect(scaler.spec.scaleTargetRef).toMatchObject({ kind: 'StatefulSet', name: WORKER });
      expect(scaler.spec.minReplicas).toBe(2);
    },
  );

  it('with autoscaling, an upgrade ends no worker that the autoscaler has started', async () => {
    expect(await workersAfterUpgrade(autoscaling(2), 5)).toBe(5);
  });

  it('without autoscaling, an upgrade brings the number of the values', async () => {
    expect(await workersAfterUpgrade({ worker: { replicas: 3 } }, 5)).toBe(3);
  });

  it.each([0, 10, 60])(
    'a slow start of control planes that stop for %i s first is no failed rollout',
    (preStopSeconds) => {
      const chart = new RenderedChart({ controlPlane: { preStopSeconds } }, 'one-node');
      const deployment = chart.get('Deployment', 'parley-control-plane');
      const { periodSeconds, failureThreshold } = containerOf(deployment).startupProbe;
      expect(deployment.spec.progressDeadlineSeconds).toBeGreaterThan(
        deployment.spec.template.spec.terminationGracePeriodSeconds + periodSeconds * failureThreshold,
      );
    },
  );
});
