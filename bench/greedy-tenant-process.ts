/**
 * Entry point of the process that `neighbours.ts` starts. One tenant does everything its limits allow, as
 * fast as it can, until `neighbours.ts` stops the process.
 */
import { createSocket } from 'node:dgram';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { Pool } from 'undici';
import { PhoneCaller } from '#caller/phone-caller.ts';
import { prepareScene } from '#caller/scene.ts';
import { mutate } from '#test/fuzz/sip/mutate.ts';
import { sipMessages } from '#test/fuzz/sip/sip-corpus.ts';
import { createRandom } from '#test/simulation/random.ts';
import type { GreedyJob, GreedyTally } from './neighbours.ts';

/** Source address of the garbage traffic, different from that of the neighbour's calls. */
const ELSEWHERE = '127.0.0.2';
const PORTS = { first: 43_000, last: 43_199 };
const UPLOAD = Buffer.alloc(8 * 1_048_576, 65);
const LONG_TEXT = 'The weather is fine today and so it will be tomorrow. '.repeat(40);

process.once('message', (job: GreedyJob) => void beGreedy(job));
process.on('disconnect', () => process.exit(0));

async function beGreedy(job: GreedyJob): Promise<void> {
  const tally: GreedyTally = {};
  const pool = new Pool(job.url, { connections: 100 });
  // An endpoint that accepts every request and never responds.
  const hanging = createServer(() => undefined).listen(0, '127.0.0.1');
  await new Promise((resolve) => hanging.once('listening', resolve));
  const hangs = `http://127.0.0.1:${(hanging.address() as AddressInfo).port}/`;

  function count(kind: string, status: number): void {
    const ofKind = tally[kind] ?? {};
    tally[kind] = { ...ofKind, [status]: (ofKind[status] ?? 0) + 1 };
  }

  async function ask(
    kind: string,
    method: 'POST' | 'PATCH',
    path: string,
    sent?: { readonly body: string | Buffer; readonly type: string },
  ) {
    const headers = { authorization: `Bearer ${job.key}`, ...(sent && { 'content-type': sent.type }) };
    const response = await pool.request({ method, path, headers, ...(sent && { body: sent.body }) });
    const text = await response.body.text();
    count(kind, response.statusCode);
    return response.statusCode < 300 && text.startsWith('{') ? JSON.parse(text) : null;
  }
  const json = (value: unknown) => ({ body: JSON.stringify(value), type: 'application/json' });
  const forever = async (work: () => Promise<unknown>) => {
    for (;;) {
      await work().catch(() => undefined);
      // Keeps requests that fail at once from blocking the event loop.
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const inParallel = (times: number, work: () => Promise<unknown>) => {
    for (let index = 0; index < times; index++) void forever(work);
  };

  const { agent_id: agentId } = await ask('set up', 'POST', '/v1/agent/agents', json({ name: 'Greedy' }));
  const webhooks = { post_call: [1, 2, 3, 4, 5].map((n) => ({ url: `${hangs}${n}` })) };
  const config = { prompt: { first_message_mode: 'fixed', first_message: 'Hello.' }, webhooks };
  await ask('set up', 'PATCH', `/v1/agent/agents/${agentId}/config`, json(config));
  await ask('set up', 'POST', `/v1/agent/agents/${agentId}/publish`, json({}));
  const number = await ask(
    'set up',
    'POST',
    '/v1/agent/phone-numbers',
    json({ provider: 'managed', phone_number: job.number, agent_id: agentId }),
  );
  const { tool_id: toolId } = await ask(
    'set up',
    'POST',
    '/v1/agent/tools',
    json({ name: 'hangs', url: hangs }),
  );

  const recipients = Array.from({ length: 2_000 }, (_, index) => ({
    to_number: `+1212555${String(index).padStart(4, '0')}`,
  }));
  const batch = {
    agent_id: agentId,
    phone_number_id: number?.phone_number_id,
    name: 'x',
    schedule: { start_at: '2099-01-01T00:00:00Z' },
    recipients,
  };
  const voice = form(
    { type: 'tts', train_mode: 'fast', title: 'x', visibility: 'private', texts: 'Hello.' },
    'voices',
  );
  const doings: Record<string, () => void> = {
    previews: () =>
      inParallel(4, () => ask('previews', 'POST', `/v1/agent/agents/${agentId}/preview-sessions`)),
    sessions: () =>
      inParallel(4, () => ask('sessions', 'POST', '/v1/agent/sessions', json({ agent_id: agentId }))),
    speech: () =>
      inParallel(8, () => ask('speech', 'POST', '/v1/tts', json({ text: LONG_TEXT, format: 'wav' }))),
    tools: () => inParallel(8, () => ask('tool tests', 'POST', `/v1/agent/tools/${toolId}/test`, json({}))),
    uploads: () => inParallel(8, () => ask('uploads', 'POST', '/model', voice)),
    batches: () => inParallel(1, () => ask('batches', 'POST', '/v1/agent/batch-calls', json(batch))),
    calls: () => inParallel(4, makeCall),
    http: () => inParallel(4, httpGarbage),
    sip: () => void sipGarbage(),
  };
  for (const [name, begin] of Object.entries(doings))
    if (job.only.length === 0 || job.only.includes(name)) begin();
  process.on('message', () => process.send?.(tally));

  /** Makes a call of one second whose webhooks go to an endpoint that hangs. */
  async function makeCall(): Promise<void> {
    const caller = new PhoneCaller({ ports: PORTS });
    const scene = prepareScene({ name: 'short', steps: [{ do: 'pause', ms: [800, 1_200] }] });
    const { outcome } = await caller.call({ target: `sip:${job.number}@127.0.0.1:${job.sipPort}`, scene });
    count('calls', outcome.type === 'refused' ? outcome.status : 200);
  }

  function form(fields: Record<string, string>, file: string) {
    const parts = Object.entries(fields).map(
      ([name, value]) => `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
    );
    const head = [
      ...parts,
      `--b\r\nContent-Disposition: form-data; name="${file}"; filename="a.wav"\r\n\r\n`,
    ].join('');
    return {
      body: Buffer.concat([Buffer.from(head), UPLOAD, Buffer.from('\r\n--b--\r\n')]),
      type: 'multipart/form-data; boundary=b',
    };
  }

  /** Sends a malformed or never-ending request from another address. */
  async function httpGarbage(): Promise<void> {
    const socket = connect({
      host: '127.0.0.1',
      port: Number(new URL(job.url).port),
      localAddress: ELSEWHERE,
    });
    await new Promise((resolve) => {
      socket.on('error', resolve).on('close', resolve).on('data', resolve);
      const head = 'POST /v1/agent/sessions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';
      socket.write(
        Math.random() < 0.5
          ? `${'{'.repeat(8_000)}\r\n\r\n`
          : `${head}Content-Length: 60000\r\n\r\n${'{{ '.repeat(20_000)}`,
      );
      setTimeout(resolve, 1_000).unref();
    });
    socket.destroy();
  }

  /** Sends malformed SIP from another address, about two thousand messages a second. */
  async function sipGarbage(): Promise<void> {
    const socket = createSocket('udp4');
    await new Promise<void>((resolve) => socket.bind(0, ELSEWHERE, resolve));
    socket.on('error', () => undefined);
    const random = createRandom(1);
    const { port } = socket.address();
    for (let n = 0; ; n++) {
      const messages = sipMessages({ callId: `greedy-${n}`, ourTag: 'a', theirTag: 'b', port }, n);
      for (const message of messages)
        socket.send(
          mutate(message, messages, random).subarray(0, 60_000),
          job.sipPort,
          '127.0.0.1',
          () => undefined,
        );
      await new Promise((resolve) => setTimeout(resolve, messages.length / 2));
    }
  }
}
