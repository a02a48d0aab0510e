/** The server of docs/custom-speech.md, run as it is written there. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { collect } from '#test/collect.ts';
import { buzz, Recording } from '../conformance.ts';
import { speak } from '../vendor-conformance.ts';
import { ownRecognizer, ownVoice } from './own-engines.ts';

const ROOT = join(import.meta.dirname, '../../../..');
const RATE = 8_000;
let server: ChildProcess;
let port: string;

beforeAll(async () => {
  const page = readFileSync(join(ROOT, 'docs/custom-speech.md'), 'utf8');
  const [, source = ''] = /```js\n(.*?)```/s.exec(page) ?? [];
  server = spawn(process.execPath, ['--input-type=module', '--eval', source], {
    cwd: ROOT,
    env: { ...process.env, PORT: '0', KEY: 'k' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(createInterface(server.stdout!), 'line');
  port = String(line).replace('port ', '');
});
afterAll(() => void server?.kill());

describe('the documented server', () => {
  it('recognises', async () => {
    const heard = new Recording(ownRecognizer({ url: `ws://127.0.0.1:${port}/stt`, api_key: 'k' }), RATE);
    heard.write(buzz(RATE, 1_600));
    heard.stream.finalise();
    await heard.until('finalised');
    expect(heard.finals).toBe('i said something for 2 seconds');
    heard.stream.close();
  });

  it('speaks', async () => {
    const voice = ownVoice({ url: `http://127.0.0.1:${port}/tts`, api_key: 'k' });
    const chunks = await collect(speak(voice, 'We open at nine.'));
    const samples = chunks.reduce((sum, chunk) => sum + chunk.samples.length, 0);
    expect([chunks[0]?.sampleRateHz, samples]).toEqual([16_000, 4 * 3_200]);
  });

  it('refuses another key', async () => {
    const heard = new Recording(ownRecognizer({ url: `ws://127.0.0.1:${port}/stt`, api_key: 'x' }), RATE);
    await heard.until('failed');
    expect(heard.events).toMatchObject([{ error: { category: 'authentication' } }]);
  });
});
