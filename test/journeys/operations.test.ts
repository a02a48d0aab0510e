/**
 * Journey: an operator runs the product from the command line: agents as files, verified balances, a restore
 * from a backup taken under load, and a check with a call.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { PhoneCaller } from '#caller/phone-caller.ts';
import { prepareScene } from '#caller/scene.ts';
import { type CommandLineResult, runParley } from '#test/command-line.ts';
import { type OtlpReceiver, openOtlpReceiver } from '#test/fakes/otlp-receiver.ts';
import { openWebhookReceiver, type WebhookReceiver } from '#test/fakes/webhook-receiver.ts';
import { type Product, startProduct } from './product.ts';
import { greetWith } from './tenant.ts';

const CREDIT_FOR = 50;
const ATTEMPTS = 200;
/** Ports of the caller. */
const PORTS = { first: 30_200, last: 30_239 };
const OPERATOR = '00000000000000000000000000000001';

let product: Product;
let folder: string;
let collector: OtlpReceiver;
let tenant: WebhookReceiver;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'parley-operator-'));
  // With this join timeout, sessions waiting for their participant are not refunded during the run.
  [collector, tenant] = await Promise.all([openOtlpReceiver(), openWebhookReceiver()]);
  product = await startProduct({
    environment: {
      SESSION_JOIN_SECONDS: '600',
      LOG_LEVEL: 'warn',
      DRAIN_SECONDS: '0',
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    },
  });
  // The doctor listens to the end of it.
  await greetWith(product, 'Hello.');
}, 60_000);
afterAll(async () => {
  await product?.close();
  await collector?.close();
  await tenant?.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('agents as files', () => {
  const file = () => join(folder, 'bakery.yaml');
  const secrets = { HOOK_SECRET: 'a secret of the hook', BREAD_TOKEN: 'a token for bread' };

  beforeAll(() =>
    writeFileSync(
      file(),
      `parley: 1
agent: { name: Bakery, description: Front desk }
config:
  prompt: { system_prompt: You answer the phone of a bakery. }
  tools: { tools: [order_bread] }
  knowledge_base: { enabled: true, sources: [Opening hours] }
  webhooks: { post_call: [{ url: "http://127.0.0.1:9/hook", secret: "\${HOOK_SECRET}" }] }
  analysis: { criteria: [{ name: polite }] }
tools:
  - name: order_bread
    url: http://127.0.0.1:9/order
    arguments: [{ name: kind }]
    headers: [{ name: Authorization, kind: authorization_bearer, value: "\${BREAD_TOKEN}" }]
knowledge:
  - { name: Opening hours, content: "We open at seven." }
`,
    ),
  );

  it('a missing secret is reported before anything changes', { timeout: 240_000 }, async () => {
    const { code, err } = await parley(['import', file()]);
    expect([code, err]).toEqual([2, expect.stringContaining('set HOOK_SECRET in the environment')]);
    expect((await parley(['agents', 'show', 'Bakery'])).code).toBe(2);
  });

  it('an import shows and applies its change; a repeated import reports that nothing changed', {
    timeout: 240_000,
  }, async () => {
    const dry = await parley(['import', '--dry-run', file()], secrets);
    expect([dry.code, dry.out]).toEqual([0, expect.stringContaining('+  name: Bakery')]);
    expect((await parley(['agents', 'diff', file()], secrets)).code).toBe(1);
    const first = await parley(['import', '--publish', file()], secrets);
    expect([first.code, first.out]).toEqual([
      0,
      expect.stringMatching(/\+ {2}name: Bakery[\s\S]*imported into agent \w+, published/),
    ]);
    const hash = (await json(['agents', 'show', 'Bakery'])).config.config_hash;
    const second = await parley(['import', '--publish', file()], secrets);
    expect([second.code, second.out.trim()]).toEqual([0, `${file()}: nothing changed`]);
    expect((await parley(['agents', 'diff', file()], secrets)).code).toBe(0);
    expect((await json(['agents', 'show', 'Bakery'])).config.config_hash).toBe(hash);
  });

  it('a changed secret counts as a change, although the diff must not show it', {
    timeout: 240_000,
  }, async () => {
    const [result] = await json(['import', file()], { ...secrets, BREAD_TOKEN: 'another token' });
    expect(result).toMatchObject({ changed: true, diff: '' });
  });

  it('an export contains everything but secrets, and importing it changes nothing', {
    timeout: 240_000,
  }, async () => {
    const exported = join(folder, 'exported.yaml');
    expect((await parley(['agents', 'export', 'Bakery', '-o', exported])).code).toBe(0);
    const text = readFileSync(exported, 'utf8');
    expect(text).not.toMatch(/a secret of the hook|token/);
    expect(parse(text)).toMatchObject({
      config: {
        tools: { tools: ['order_bread'] },
        webhooks: { post_call: [{ url: 'http://127.0.0.1:9/hook', has_secret: true }] },
      },
      tools: [
        {
          name: 'order_bread',
          headers: [{ name: 'Authorization', kind: 'authorization_bearer', has_secret: true }],
        },
      ],
      knowledge: [{ name: 'Opening hours', content: 'We open at seven.' }],
    });
    expect((await parley(['import', exported])).out.trim()).toBe(`${exported}: nothing changed`);
  });
});

describe('exit codes identify the kind of failure', () => {
  it('the code is 2 for a rejected key or wrong usage, and 3 when the server is unreachable', {
    timeout: 240_000,
  }, async () => {
    const refused = await parley(['--key', 'wrong', 'wallet', 'show']);
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('--key')]);
    expect((await parley(['wallet', 'polish'])).code).toBe(2);
    const away = await parley(['--url', 'http://127.0.0.1:9', 'wallet', 'show']);
    expect([away.code, away.err]).toEqual([3, expect.stringContaining('npm start')]);
  });
});

it('buys a number for an agent, lists it and releases it', { timeout: 240_000 }, async () => {
  await product.ask('POST', '/v1/agent/agents', { name: 'Florist' });
  const number = '+15550100077';
  const bought = await parley(['numbers', 'buy', number, '--agent', 'Florist']);
  expect(bought).toMatchObject({ code: 0, out: `${number} is active\n` });
  expect(await json(['numbers', 'list'])).toContainEqual(expect.objectContaining({ phone_number: number }));
  expect(await parley(['numbers', 'release', number])).toMatchObject({ code: 0 });
  const again = await parley(['numbers', 'release', number]);
  expect([again.code, again.err]).toEqual([2, expect.stringContaining('parley numbers list')]);
});

it(`${ATTEMPTS} sessions at once on credit for ${CREDIT_FOR}: exactly ${CREDIT_FOR}, and the ledgers add up`, {
  timeout: 240_000,
}, async () => {
  const user = await product.ask('POST', '/admin/users', { name: 'Thrifty', credit: '3.00' });
  const ask = (path: string, body: unknown) =>
    fetch(`${product.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${user.api_key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const { agent_id } = (await (await ask('/v1/agent/agents', { name: 'Popular' })).json()) as {
    agent_id: string;
  };
  expect((await ask(`/v1/agent/agents/${agent_id}/publish`, {})).status).toBe(200);
  const statuses = await Promise.all(
    Array.from({ length: ATTEMPTS }, async () => (await ask('/v1/agent/sessions', { agent_id })).status),
  );
  expect([
    statuses.filter((status) => status === 201).length,
    statuses.filter((status) => status === 402).length,
  ]).toEqual([CREDIT_FOR, ATTEMPTS - CREDIT_FOR]);
  expect((await json(['wallet', 'show', user.user_id])).credit).toBe('0.00');
  expect(await parley(['wallet', 'verify'])).toMatchObject({ code: 0, out: expect.stringContaining('✓') });
});

it('a kill under load loses no acknowledged write, and a backup taken then has correct books', {
  timeout: 180_000,
}, async () => {
  const before = Number((await json(['wallet', 'show'])).credit);
  const load = topUps();
  const file = join(folder, 'backup.tar');
  await product.until('top-ups are coming in', () => load.acknowledged.length > 20, 60_000);
  expect(await parley(['backup', file])).toMatchObject({ code: 0, err: '' });
  const atBackup = load.acknowledged.length;
  expect(product.kill('control-plane')).toBeGreaterThan(0);
  await product.until(
    'it is ready again',
    async () => (await fetch(`${product.url}/readyz`)).status === 200,
    60_000,
  );
  await product.until('top-ups go on', () => load.acknowledged.length > atBackup + 20, 60_000);
  await load.stop();
  expect((await parley(['wallet', 'verify'])).code).toBe(0);
  const added = Number((await json(['wallet', 'show'])).credit) - before;
  expect(added.toFixed(2)).toBe(load.acknowledged.length.toFixed(2));

  const inUse = await parley(['restore', file], { DATA_DIR: product.dataDir });
  expect([inUse.code, inUse.err]).toEqual([2, expect.stringContaining('in use')]);
  const dataDir = join(folder, 'restored');
  expect(await parley(['restore', file, '--data-dir', dataDir])).toMatchObject({ code: 0, err: '' });
  expect((await parley(['restore', file, '--data-dir', dataDir])).code).toBe(2);
  const restored = await startProduct({ dataDir, environment: { LOG_LEVEL: 'warn', DRAIN_SECONDS: '0' } });
  try {
    // The keys are the same, and the balance is that of one moment between the first top-up and the end of
    // the backup.
    expect(restored.rootKey).toBe(product.rootKey);
    const { credit } = await restored.ask('GET', `/wallet/${OPERATOR}/api-credit`);
    expect(Number(credit)).toBeGreaterThan(before);
    expect(Number(credit)).toBeLessThanOrEqual(before + atBackup + 1);
    expect(await parley(['--url', restored.url, 'wallet', 'verify'])).toMatchObject({ code: 0 });
    expect((await parley(['--url', restored.url, 'agents', 'show', 'Bakery'])).code).toBe(0);
  } finally {
    await restored.close();
  }
});

it('the doctor finds the product, calls its demo agent as a softphone would, and leaves nothing behind', {
  timeout: 240_000,
}, async () => {
  const books = () =>
    Promise.all(
      [
        `/wallet/${OPERATOR}/api-credit`,
        '/v1/agent/sessions?status=pending,active,unknown,completed,failed',
        ...['agents', 'phone-numbers', 'refusals', 'audit-log'].map((name) => `/v1/agent/${name}`),
      ].map((path) => product.ask('GET', path)),
    );
  const before = await books();
  const { out } = await parley(['--json', 'doctor'], { PORT: '0', SIP_PORT: '0' });
  const findings: { what: string; verdict: string; found: string }[] = JSON.parse(out);
  for (const what of ['Settings', 'Product', 'SIP', 'Database', 'Workers', 'Speech synthesis'])
    expect(findings.find((finding) => finding.what === what)).toMatchObject({ verdict: 'ok' });
  expect(findings.find(({ what }) => what === 'SIP')?.found).toContain(`port ${product.sipPort}`);
  const calls = findings.filter(({ what }) => what.startsWith('Test call'));
  const cards = Object.values(networkInterfaces())
    .flatMap((entries) => entries ?? [])
    .filter(({ family, internal }) => family === 'IPv4' && !internal);
  expect(calls.map(({ what }) => what)).toEqual(
    ['127.0.0.1', ...cards.slice(0, 1).map(({ address }) => address)].map(
      (address) => `Test call from ${address}`,
    ),
  );
  for (const { verdict, found } of calls)
    expect([verdict, found]).toEqual([
      'ok',
      expect.stringMatching(/^\+15550100000 was heard for \d+\.\d s, and received \d{2,} packets/),
    ]);
  expect(await books()).toEqual(before);
});

it('a phone call is shown in the terminal, and is one trace', { timeout: 240_000 }, async () => {
  const agent = await product.ask('POST', '/v1/agent/agents', {
    name: 'Patient',
    config: {
      prompt: {
        system_prompt: 'You answer.',
        first_message_mode: 'fixed',
        first_message: 'Hello, this is the doctor’s patient.',
      },
      webhooks: { post_call: [{ url: `${tenant.url}/hook` }] },
    },
  });
  await product.ask('POST', `/v1/agent/agents/${agent.agent_id}/publish`);
  const number = '+15550100321';
  await product.ask('POST', '/v1/agent/phone-numbers', {
    provider: 'managed',
    phone_number: number,
    agent_id: agent.agent_id,
  });
  const scene = prepareScene({ name: 'patient', steps: [{ do: 'listen' }] });
  await new PhoneCaller({ ports: PORTS }).call({ target: product.sipAddress(number), scene });
  const [session] = await json(['sessions', 'list', '--agent', 'Patient']);
  const shown = await parley(['sessions', 'show', session.session_id]);
  expect(shown.out).toContain('Agent   Hello, this is the doctor’s patient.');
  await expectTrace(session.session_id);
});

/**
 * The call is one trace: the root from the control plane, its parts from the worker, and its webhooks;
 * requests about the call link to it.
 */
async function expectTrace(sessionId: string): Promise<void> {
  const spans = () => collector.spans.filter(({ traceId }) => traceId === sessionId);
  const named = (name: string) => spans().find((span) => span.name === name);
  await product.until(
    'the call’s trace is whole',
    () => ['invoke_agent Patient', 'join', 'webhook call.ended'].every(named),
    60_000,
  );
  const root = named('invoke_agent Patient');
  expect(root).toMatchObject({
    service: 'parley-control-plane',
    parentId: null,
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'Patient',
      'gen_ai.conversation.id': sessionId,
      'gen_ai.agent.invocation.end_reason': 'completed',
      'parley.status': 'completed',
      'parley.channel': 'phone_inbound',
    },
  });
  // The greeting, which belongs to no turn.
  expect(spans().find(({ name }) => name.startsWith('text_to_speech '))).toMatchObject({
    service: 'parley-worker',
    parentId: root?.spanId,
    attributes: { 'gen_ai.operation.name': 'text_to_speech', 'gen_ai.provider.name': 'local' },
  });
  expect(named('join')).toMatchObject({ service: 'parley-worker', parentId: root?.spanId });
  expect(named('webhook call.ended')).toMatchObject({
    service: 'parley-control-plane',
    parentId: root?.spanId,
    status: 0,
  });
  await product.until('a request about it is linked with it', () =>
    collector.spans.some(
      ({ name, links }) => name === 'GET /v1/agent/sessions/:session_id' && links.includes(sessionId),
    ),
  );
  expect(JSON.stringify(collector.spans)).not.toMatch(/doctor’s patient|5550100321/);
}

/** Repeatedly tops up the operator's credit by a dollar, retrying each top-up until it is acknowledged. */
function topUps() {
  const acknowledged: string[] = [];
  let isStopping = false;
  const writer = async (name: string) => {
    for (let index = 0; !isStopping; index++) {
      const key = `${name}-${index}`;
      const post = () =>
        product.api('POST', `/admin/wallet/${OPERATOR}/top-up`, { amount: '1.00', idempotency_key: key });
      while ((await post().catch(() => null))?.status !== 200)
        await new Promise((done) => setTimeout(done, 50));
      acknowledged.push(key);
    }
  };
  const done = writer('one');
  return {
    acknowledged,
    stop: () => {
      isStopping = true;
      return done;
    },
  };
}

/** Runs the command line against the product. */
function parley(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<CommandLineResult> {
  const own = { HOME: process.env['HOME'], PARLEY_URL: product.url, DATA_DIR: product.dataDir };
  return runParley(args, { folder, environment: { ...own, ...environment } });
}

async function json(args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const { code, out, err } = await parley(['--json', ...args], environment);
  if (code !== 0) throw new Error(`parley ${args.join(' ')}: ${code} ${err}`);
  return JSON.parse(out);
}
