/** What the chart refuses, and what it tells the operator to do. */
import { expect, it } from 'vitest';
import { describeWhereThere } from '#test/needs.ts';
import { REQUIRED, renderChart, type Values } from './rendered-chart.ts';

/** Values, and what the message must contain: the name of the value, and the remedy. */
const REFUSED: readonly (readonly [string, Values, RegExp])[] = [
  ['no Secret', { secrets: { existingSecret: '' } }, /secrets\.existingSecret: name a Secret .* MASTER_KEY/],
  ['no public address', { publicUrl: '' }, /publicUrl: set the address/],
  [
    'several control planes without Redis',
    { controlPlane: { replicas: 2, secretKeys: ['MONGODB_URL'], persistence: { enabled: false } } },
    /controlPlane\.replicas: more than one needs MONGODB_URL and REDIS_URL/,
  ],
  [
    'several control planes on a volume',
    { controlPlane: { replicas: 2 } },
    /controlPlane\.persistence: only one/,
  ],
  [
    'a volume for two control planes at a time',
    { controlPlane: { strategy: 'RollingUpdate' } },
    /controlPlane\.strategy: must be Recreate/,
  ],
  [
    'a database in a pod',
    { controlPlane: { persistence: { enabled: false } } },
    /controlPlane\.secretKeys: without MONGODB_URL/,
  ],
  [
    'recordings in a pod',
    { controlPlane: { persistence: { enabled: false }, secretKeys: ['MONGODB_URL'] } },
    /BLOBS_URL: set a bucket/,
  ],
  [
    'more workers than media ports',
    { worker: { replicas: 8, rtp: { last: 24_999 } } },
    /worker\.rtp: 8 workers/,
  ],
  ['too many workers for one node', { worker: { replicas: 11 } }, /worker\.onePerNode: at most ten/],
  ['too few media ports', { worker: { maxCalls: 501 } }, /worker\.rtp: .* at least 1002 ports/],
  [
    'a health port among the media ports',
    { worker: { healthPort: 20_100 } },
    /worker\.healthPort: 20100 is one/,
  ],
  [
    'a health port without room',
    { worker: { healthPort: 19_091 } },
    /worker\.healthPort: must be a multiple of 10/,
  ],
  [
    'workers that no phone audio reaches',
    { worker: { hostNetwork: false } },
    /worker\.hostNetwork: .* relay\.enabled/,
  ],
  ['a relay without an image', { relay: { enabled: true } }, /relay\.image: set repository and tag/],
  [
    'media ports of relay and worker on one node',
    { relay: { enabled: true, image: { repository: 'a', tag: 'b' }, ports: { last: 20_000 } } },
    /relay\.ports: overlap/,
  ],
  ['external signalling without servers', { sip: { mode: 'external' } }, /sip\.servers: name the host:port/],
  ['a monitor without metrics', { metrics: { podMonitor: { enabled: true } } }, /metrics\.podMonitor: set/],
  [
    'autoscaling without metrics',
    { worker: { autoscaling: { enabled: true } } },
    /autoscaling: .* metrics\.enabled/,
  ],
  [
    'autoscaling down to one worker',
    { worker: { autoscaling: { enabled: true, minReplicas: 1 } }, metrics: { enabled: true } },
    /autoscaling: minReplicas must be at least 2/,
  ],
  ['a network policy without nodes', { networkPolicy: { enabled: true } }, /networkPolicy\.nodeCidrs: list/],
  [
    'a misspelt setting',
    { worker: { env: { DRAIN_SECOND: 3 } } },
    /worker\.env: DRAIN_SECOND is not a setting/,
  ],
  [
    'a setting of the chart',
    { env: { DRAIN_SECONDS: 3 } },
    /env: DRAIN_SECONDS comes from worker\.drainSeconds/,
  ],
  [
    'a secret among settings',
    { env: { OPENAI_API_KEY: 'x' } },
    /env: OPENAI_API_KEY is a secret.*secrets\.keys/,
  ],
  [
    'a secret of control planes for workers',
    { worker: { secretKeys: ['MASTER_KEY'] } },
    /worker\.secretKeys: workers must not have MASTER_KEY/,
  ],
  [
    'an unknown key of the Secret',
    { secrets: { existingSecret: 'parley', keys: ['OPENAI_KEY'] } },
    /secrets\.keys: OPENAI_KEY is not a setting/,
  ],
  ['a misspelt value', { workers: { replicas: 2 } }, /workers/],
  ['a value of the wrong type', { worker: { replicas: 'two' } }, /replicas.*integer|integer.*replicas/is],
  ['a value out of range', { sip: { port: 70_000 } }, /sip.port.*65,?535/i],
  ['an unknown mode', { sip: { mode: 'kamailio' } }, /mode.*embedded/is],
];

describeWhereThere(['render-chart'])('the chart refuses', () => {
  it.each(REFUSED)('%s, and says what to do', (_, values, message) => {
    const { status, problem } = renderChart({ ...REQUIRED, ...values }, 'one-node');
    expect(problem).toMatch(message);
    expect(status).toBe(1);
  });
});
