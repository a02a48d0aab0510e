import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startDeliverer } from '#control-plane/calls/webhooks/deliver.ts';
import { inboundCallEvent, webhookEvent } from '#protocol/webhook-events.ts';
import { openTestCalls } from '../control-plane/test-calls.ts';
import { openWebhookReceiver, type ReceivedWebhook } from '../fakes/webhook-receiver.ts';
import { itNeeds } from '../needs.ts';
import { blocksOf, fileIn } from './page-blocks.ts';

const PAGE = readFileSync(resolve(import.meta.dirname, '../../docs/webhooks.md'), 'utf8');
const BLOCKS = blocksOf(PAGE);
const SECRET = 'a long random string';

let folder: string;
let webhook: ReceivedWebhook;
let header: string;
let sentAt: number;

/** The code of the page's only block in this language that contains `text`. */
function block(language: string, text: string): string {
  const blocks = BLOCKS.filter((one) => one.language === language && one.code.includes(text));
  expect(blocks.length, `blocks in ${language} with ${text}`).toBe(1);
  return blocks[0]?.code ?? '';
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'parley-webhook-'));
  const api = await openTestCalls();
  const receiver = await openWebhookReceiver();
  const deliverer = startDeliverer(api.context);
  const user = await api.createUser();
  const post_call = [{ url: `${receiver.url}/parley`, secret: SECRET }];
  const agent_id = await api.publishAgent(user, { webhooks: { post_call } });
  // Non-ASCII text, because a signature over decoded and encoded text would differ there.
  const body = { agent_id, metadata: { guest: 'Zoë' } };
  const created = await api.request('POST', '/v1/agent/sessions', { key: user.key, body });
  await api.report(created.body.session_id, { type: 'joined', at: api.at() });
  await api.clock.advance(12_500);
  await api.report(created.body.session_id, { type: 'ended', at: api.at(), end_reason: 'agent_hangup' });
  const [first] = await receiver.waitFor(1);
  await deliverer.close();
  await receiver.close();
  sentAt = Math.floor(api.clock.wallTime() / 1000);
  await api.close();
  if (!first) throw new Error('no webhook came');
  webhook = first;
  header = String(webhook.headers['x-service-webhook-signature']);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Request {
  readonly secret: string;
  readonly header: string;
  readonly body: Buffer;
  readonly now: number;
}

/** A verifier's verdicts on the delivered webhook and on forgeries of it. */
function verdicts(verify: (request: Request) => string): Record<string, string> {
  const genuine = { secret: SECRET, header, body: webhook.raw, now: sentAt };
  return {
    delivered: verify(genuine),
    '300 s old': verify({ ...genuine, now: sentAt + 300 }),
    'with an unknown element': verify({ ...genuine, header: `${header},v2=00` }),
    'another secret': verify({ ...genuine, secret: 'another' }),
    'a changed body': verify({ ...genuine, body: Buffer.concat([webhook.raw, Buffer.from(' ')]) }),
    '301 s old': verify({ ...genuine, now: sentAt + 301 }),
    '301 s early': verify({ ...genuine, now: sentAt - 301 }),
    'without v1': verify({ ...genuine, header: `t=${sentAt}` }),
  };
}

const EXPECTED = {
  delivered: 'genuine',
  '300 s old': 'genuine',
  'with an unknown element': 'genuine',
  'another secret': 'rejected',
  'a changed body': 'rejected',
  '301 s old': 'rejected',
  '301 s early': 'rejected',
  'without v1': 'rejected',
};

/** Runs a program in the folder, with the request in its environment and `body.json`. */
function run(program: string, args: readonly string[], request: Request): string {
  writeFileSync(join(folder, 'body.json'), request.body);
  const env = { ...process.env, SECRET: request.secret, HEADER: request.header, NOW: String(request.now) };
  return execFileSync(program, args, { cwd: folder, env, encoding: 'utf8' }).trim();
}

describe('the page on webhooks', () => {
  it('has Node code that accepts a delivered webhook and rejects forgeries', async () => {
    writeFileSync(join(folder, 'verify.mjs'), fileIn(BLOCKS, 'verify.mjs'));
    const { isGenuine } = await import(/* @vite-ignore */ join(folder, 'verify.mjs'));
    const verify = ({ secret, header: sent, body, now }: Request) =>
      isGenuine(secret, sent, body, now) ? 'genuine' : 'rejected';
    expect(verdicts(verify)).toEqual(EXPECTED);
  });

  itNeeds(['python3'])('has Python code that accepts a delivered webhook and rejects forgeries', () => {
    writeFileSync(join(folder, 'verify.py'), fileIn(BLOCKS, 'verify.py'));
    const main = [
      'import os, verify',
      'body = open("body.json", "rb").read()',
      'e = os.environ',
      'genuine = verify.is_genuine(e["SECRET"], e["HEADER"], body, int(e["NOW"]))',
      'print("genuine" if genuine else "rejected")',
    ].join('\n');
    expect(verdicts((request) => run('python3', ['-c', main], request))).toEqual(EXPECTED);
  });

  itNeeds(['openssl', 'sh'])('has openssl lines that accept a delivered webhook and reject forgeries', () => {
    const code = block('sh', 'echo genuine');
    expect(verdicts((request) => run('sh', ['-c', code], request))).toEqual(EXPECTED);
  });

  it('shows payloads with the fields that Parley sends', () => {
    const ended = JSON.parse(block('json', '"call.ended"'));
    const analyzed = {
      event: 'call.analyzed',
      session: ended.session,
      ...JSON.parse(block('json', '"analysis"')),
    };
    const inbound = JSON.parse(block('json', '"call.inbound"'));
    expect(webhookEvent.parse(ended)).toEqual(ended);
    expect(webhookEvent.parse(analyzed)).toEqual(analyzed);
    expect(inboundCallEvent.parse(inbound)).toEqual(inbound);
  });

  it('lists every event', () => {
    for (const { shape } of webhookEvent.options) expect(PAGE).toContain(`| \`${shape.event.value}\` |`);
  });
});
