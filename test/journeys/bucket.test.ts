/**
 * Journey: recordings in a bucket. A call becomes a few objects that its worker stores itself. A machine that
 * loses its power during a call, worker and control plane at once, has the recording on its disk.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { signingTimes } from '#protocol/signing-times.ts';
import { S3_CREDENTIALS, type S3Server, startS3Server } from '#test/fakes/s3-server.ts';
import { exportedFile } from './exported-file.ts';
import { callLive, type LivePhone } from './live-phone.ts';
import { type Product, startProduct } from './product.ts';
import { agentAt } from './tenant.ts';

const NUMBER = '+15550100778';
const SETUP_MS = 120_000;
/** Two pieces of 4.8 s, and time to send them. */
const TALK_MS = 11_500;
const TWO_PIECES_MS = 9_600;
const RATE_HZ = 8_000;
/** The next worker lets the calls go first; a busy machine takes longer. */
const FOUND = { timeout: 60_000, interval: 500 };

let product: Product;
let s3: S3Server;
let dataDir: string;

beforeAll(async () => {
  s3 = await startS3Server({ pageKeys: 1_000 });
  dataDir = mkdtempSync(join(tmpdir(), 'parley-bucket-'));
  await start();
  await agentAt(product, NUMBER, {
    prompt: { system_prompt: 'You talk.', first_message_mode: 'fixed', first_message: 'Hello.' },
  });
}, SETUP_MS);
afterAll(async () => {
  await product?.close();
  await s3?.close();
  rmSync(dataDir, { recursive: true, force: true });
});

async function start(): Promise<void> {
  product = await startProduct({
    dataDir,
    environment: {
      BLOBS_URL: `s3://calls?endpoint=${s3.endpoint}`,
      AWS_ACCESS_KEY_ID: S3_CREDENTIALS.accessKeyId,
      AWS_SECRET_ACCESS_KEY: S3_CREDENTIALS.secretAccessKey,
    },
  });
}

/** A call that has lasted for a while. */
async function call(from: string): Promise<LivePhone> {
  const phone = await callLive(product.sipAddress(NUMBER), from);
  await systemClock.sleep(TALK_MS);
  return phone;
}

async function sessionFrom(from: string): Promise<string> {
  const { sessions } = await product.ask('GET', '/v1/agent/sessions');
  return sessions.find((one: { caller_number: string | null }) => one.caller_number === from).session_id;
}

/** The objects of a side of the call. */
function objectsOf(sessionId: string, side: 'agent' | 'user') {
  return [...s3.objects.keys()].flatMap((key) => {
    const name = /\/recording\/(.*)$/.exec(key)?.[1] ?? '';
    if (!key.includes(sessionId) || !name.startsWith(side)) return [];
    const [samples = 0, pieces = 0, salt] = name.replace('.flac', '').split('-').slice(5);
    return [
      { ms: (1_000 * Number(samples)) / RATE_HZ, pieces: Number(pieces), isWorkers: salt !== undefined },
    ];
  });
}

/** What was signed of the sound and the inputs of a call. */
async function signedIn(sessionId: string) {
  const times = signingTimes(await exportedFile(product, sessionId));
  return times
    .filter(({ name }) => /^sound|log$/.test(name))
    .toSorted((a, b) => a.name.localeCompare(b.name));
}

describe('a call that is recorded in a bucket', () => {
  it('is one object for each side, which its worker has stored itself', { timeout: 120_000 }, async () => {
    const phone = await call('+15557650101');
    expect(s3.objects.size).toBe(0);
    await phone.hangUp();
    const id = await sessionFrom('+15557650101');
    for (const side of ['agent', 'user'] as const)
      await expect
        .poll(() => objectsOf(id, side), FOUND)
        .toEqual([{ ms: expect.any(Number), pieces: 3, isWorkers: true }]);
    const path = `/v1/agent/sessions/${id}/recording`;
    await product.until('it is complete', async () => (await product.ask('GET', path)).status === 'complete');
    const { tracks } = await product.ask('GET', path);
    const wav = await fetch(tracks[1].url);
    expect((await wav.arrayBuffer()).byteLength).toBeGreaterThan((2 * RATE_HZ * TALK_MS) / 1_000 - RATE_HZ);
    // Each piece of both sides, and all inputs of the turn machine, were signed before the call had ended.
    const whole = { atExport: 0, missing: 0 };
    expect(await signedIn(id)).toEqual([
      expect.objectContaining({ name: 'flight log', ...whole }),
      expect.objectContaining({ name: 'sound of the agent', inCall: 3, ...whole }),
      expect.objectContaining({ name: 'sound of the caller', inCall: 3, ...whole }),
    ]);
  });

  it('is there but for its last piece after everything was killed at once', {
    timeout: 180_000,
  }, async () => {
    const phone = await call('+15557650102');
    const id = await sessionFrom('+15557650102');
    expect(objectsOf(id, 'user')).toEqual([]);
    for (const { pid } of product.processes()) process.kill(pid, 'SIGKILL');
    await product.untilGone();
    await start();
    for (const side of ['agent', 'user'] as const)
      await expect
        .poll(() => objectsOf(id, side), FOUND)
        .toEqual([{ ms: TWO_PIECES_MS, pieces: 2, isWorkers: false }]);
    await phone.hangUp().catch(() => undefined);
  });
});
