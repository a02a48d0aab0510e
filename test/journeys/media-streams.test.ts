/**
 * Journey: a number of a customer's own account at Twilio. Its calls come as media streams to the HTTP port,
 * so that neither SIP nor UDP is needed. Twilio is a stand-in that speaks its REST API, its voice webhook and
 * its stream.
 */
import { execFile } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  askAboutCall,
  askForStream,
  dialByStream,
  joinStream,
  type StreamDial,
  StreamPhone,
} from '#caller/stream-phone.ts';
import { VENDORS } from '#caller/vendor-dialects.ts';
import { startTwilioServer, TWILIO_ACCOUNT, type TwilioServer } from '#test/fakes/twilio-server.ts';
import { describeWhereThere, itNeeds } from '#test/needs.ts';
import { ASKED_AND_ANSWERED, listenOn, type TalkingPhone, talkOn } from './asked-by-phone.ts';
import { ConsolePage } from './console-page.ts';
import { QUESTION, record, recordWav } from './microphone.ts';
import { type Product, startProduct } from './product.ts';
import { launchBrowser } from './talk-page.ts';
import { demoAgentId, greetWith } from './tenant.ts';
import { GREETING } from './web-conversation.ts';

/** Python with streamdouble (.ci/vendor-python). */
const PYTHON = 'vendor-python';
const MAIN = 'import sys; from streamdouble.cli import main; sys.exit(main())';
const run = promisify(execFile);
const NUMBER = '+14155550123';
const PUBLIC_URL = 'https://phone.example.com';
const ACCOUNT = { account: TWILIO_ACCOUNT.accountSid, secret: TWILIO_ACCOUNT.authToken };
const INTERRUPTION = 'Please stop, I have another question.';
const GOODBYE = 'Please hang up, goodbye.';
const GREETED = `assistant: ${GREETING}`;

let twilio: TwilioServer;
let product: Product;

beforeAll(async () => {
  twilio = await startTwilioServer();
  twilio.owned.push({
    sid: `PN${'1'.repeat(32)}`,
    phone_number: NUMBER,
    voice_url: 'https://demo.twilio.com/',
  });
  product = await startProduct({
    environment: { TWILIO_BASE_URL: twilio.url, PUBLIC_URL, LOG_LEVEL: 'error' },
  });
  const agentId = await demoAgentId(product);
  await product.ask('PATCH', `/v1/agent/agents/${agentId}/config`, {
    conversation: { keypad_input: { enabled: true, inter_digit_timeout_seconds: 1 } },
    asr: {
      keyterms: [QUESTION, INTERRUPTION, GOODBYE].map((said) => said.replace(/[?.,]/g, '').toLowerCase()),
    },
  });
  await greetWith(product, GREETING);
  await connect({ agent_id: agentId });
}, 120_000);
afterAll(async () => {
  await product?.close();
  await twilio?.close();
});

/** Connects the number, with these fields changed. */
function connect(more: Record<string, unknown> = {}) {
  return product.api('POST', '/v1/agent/phone-numbers/connect-twilio', {
    account_sid: TWILIO_ACCOUNT.accountSid,
    auth_token: TWILIO_ACCOUNT.authToken,
    phone_number: NUMBER,
    ...more,
  });
}

function dialOf(from: string): StreamDial {
  const voiceUrl = String(twilio.owned[0]?.['voice_url']);
  return { vendor: 'twilio', ...ACCOUNT, voiceUrl, at: product.url, from, to: NUMBER };
}

/** Calls the number; resolves once the call is answered. */
async function dial(by: StreamDial): Promise<StreamPhone> {
  const phone = await dialByStream(by);
  if (phone instanceof StreamPhone) return phone;
  throw new Error(`the call was rejected: ${phone.rejected}`);
}

async function talkingPhone(
  from: string,
  by: StreamDial = dialOf(from),
): Promise<TalkingPhone & { readonly phone: StreamPhone }> {
  return talking(await dial(by));
}

function talking(phone: StreamPhone): TalkingPhone & { readonly phone: StreamPhone } {
  return {
    phone,
    packets: phone.played,
    speak: (samples) => phone.speak(samples),
    hangUp: () => phone.hangUp(),
  };
}

async function sessionOf(from: string) {
  const find = `/v1/agent/sessions?caller_number=${encodeURIComponent(from)}`;
  return (await product.ask('GET', find)).sessions[0];
}

describeWhereThere([PYTHON])('another implementation of Twilio’s side (streamdouble)', () => {
  it('hears the agent, and finds nothing wrong with what it is told', { timeout: 120_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-double-'));
    const from = '+15557660010';
    const asked = await askForStream(dialOf(from));
    const audio = join(folder, 'question.wav');
    // Time for the greeting before, and for the answer of a busy machine after.
    writeFileSync(audio, recordWav([4, QUESTION, 6], 8_000));
    const url = 'url' in asked ? asked.url : '';
    const { stdout } = await run(PYTHON, ['-c', MAIN, 'call', url, '--audio', audio, '--json', '--quiet']);
    rmSync(folder, { recursive: true, force: true });
    const double = JSON.parse(stdout);
    expect(double).toMatchObject({ violations: [], unknown_events: [], closed_early: false, exit_code: 0 });
    // The greeting and the answer.
    expect(double.audio_received_ms).toBeGreaterThan(4_000);
    expect(double.marks_received).toBeGreaterThan(10);
    await product.until('the call is settled', async () => (await sessionOf(from)).status === 'completed');
  });
});

const keys = generateKeyPairSync('ed25519');
const publicKey = Buffer.from(keys.publicKey.export({ format: 'jwk' }).x ?? '', 'base64url').toString(
  'base64',
);
const privateKey = keys.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();

describe.each([
  ['telnyx', { public_key: publicKey }, { account: '', secret: privateKey }],
  ['plivo', { auth_id: 'MA1', auth_token: 'a-token' }, { account: 'MA1', secret: 'a-token' }],
  ['vonage', { api_key: 'k1', signature_secret: 'a-secret' }, { account: 'k1', secret: 'a-secret' }],
] as const)('a number connected to %s', (vendor, credentials, account) => {
  it('answers a call, hears it and its keys, and is heard', { timeout: 120_000 }, async () => {
    const to = `+1415555017${vendor.length}`;
    const { media_stream } = await product.ask('POST', '/v1/agent/phone-numbers/connect-stream', {
      vendor,
      ...credentials,
      phone_number: to,
      agent_id: await demoAgentId(product),
    });
    const from = `+1555766002${vendor.length}`;
    const by = { vendor, ...account, voiceUrl: media_stream.voice_url, at: product.url, from, to };
    const { phone, ...line } = await talkingPhone(from, by);
    const call = await listenOn(product, from, line);
    await call.ask();
    for (const digit of '12#') phone.press(digit);
    await product.until('the keys are heard', async () =>
      (await call.call()).said.some((line) => /^user: .*\b12\b/.test(line)),
    );
    await call.hangUp();
    await product.until('the call is settled', async () => (await call.call()).status === 'completed');
    const { end_reason, said } = await call.call();
    expect(end_reason).toBe('user_hangup');
    expect(said.slice(0, 3)).toEqual([GREETED, ...ASKED_AND_ANSWERED]);
  });

  it('is answered to nobody else', async () => {
    const { phone_numbers } = await product.ask('GET', '/v1/agent/phone-numbers');
    const mine = phone_numbers.find(
      ({ media_stream }: { media_stream?: { vendor: string } }) => media_stream?.vendor === vendor,
    );
    const secret =
      vendor === 'telnyx'
        ? generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
        : 'guessed';
    const from = '+15557660002';
    const by = { vendor, account: account.account, secret, at: product.url, from, to: NUMBER };
    expect((await askAboutCall({ ...by, voiceUrl: mine.media_stream.voice_url })).status).toBe(403);
  });
});

describe('a number connected to Twilio', () => {
  it('answers a call, hears the caller and is heard', { timeout: 120_000 }, async () => {
    const from = '+15557660001';
    const call = await listenOn(product, from, await talkingPhone(from));
    await call.ask();
    await call.hangUp();
    await product.until('the call is settled', async () => (await call.call()).status === 'completed');
    const { end_reason, said } = await call.call();
    expect(end_reason).toBe('user_hangup');
    expect(said).toEqual([GREETED, ...ASKED_AND_ANSWERED]);
  });

  it('stops what Twilio has not played when the caller interrupts', { timeout: 120_000 }, async () => {
    const from = '+15557660007';
    const { phone, ...line } = await talkingPhone(from);
    const call = await listenOn(product, from, line);
    const greeted = phone.played.length;
    await phone.speak(record([QUESTION, 1], 8_000));
    await product.until('it answers', () => phone.played.length > greeted + 60, 60_000, 20);
    await phone.speak(record([INTERRUPTION, 1], 8_000));
    await product.until('it was heard', async () => (await call.call()).said.length >= 4);
    const answer = (await call.call()).said.find((line) => line.startsWith('assistant: We are open')) ?? '';
    expect(answer).not.toBe('');
    expect(answer).not.toContain('book a table');
    // What was sent is at most this much ahead of what is played.
    expect(phone.mostWaitingMs).toBeLessThan(800);
    await call.hangUp();
  });

  it('hears the keys that its caller presses', { timeout: 60_000 }, async () => {
    const from = '+15557660008';
    const { phone, ...line } = await talkingPhone(from);
    const call = await listenOn(product, from, line);
    for (const digit of '12#') phone.press(digit);
    await product.until('the keys are heard', async () =>
      (await call.call()).said.some((line) => /^user: .*\b12\b/.test(line)),
    );
    await call.hangUp();
  });

  it('goes on with another worker when its own dies', { timeout: 120_000 }, async () => {
    const from = '+15557660005';
    const call = await talkOn(product, from, await talkingPhone(from));
    await product.until('the greeting is heard', () => call.packets.length > 50);
    expect(product.kill('worker')).toBeGreaterThan(0);
    const isSorry = (line: string) => line.startsWith('assistant: Sorry, I lost');
    await product.until('it apologises', async () => (await call.call()).said.some(isSorry));
    await call.ask();
    await call.hangUp();
    await product.until('the call is settled', async () => (await call.call()).status === 'completed');
    const { end_reason, said } = await call.call();
    expect(end_reason).toBe('user_hangup');
    expect(said.slice(-2)).toEqual(ASKED_AND_ANSWERED);
  });

  it('is hung up on by the agent, once its farewell was heard', { timeout: 120_000 }, async () => {
    const from = '+15557660006';
    const { phone, speak, ...line } = await talkingPhone(from);
    const call = await listenOn(product, from, { speak, ...line });
    await speak(record([GOODBYE, 1], 8_000));
    expect(await phone.over).toBe(true);
    await product.until('the call is settled', async () => (await call.call()).status === 'completed');
    const { end_reason, said } = await call.call();
    expect([end_reason, said.at(-1)]).toEqual(['agent_hangup', 'assistant: Thank you for calling. Goodbye!']);
  });

  it('is answered to nobody but Twilio', async () => {
    const url = `${product.url}${new URL(dialOf('').voiceUrl).pathname}`;
    const forged = { ...dialOf('+15557660002'), secret: 'guessed' };
    expect((await askAboutCall(forged)).status).toBe(403);
    expect((await fetch(url, { method: 'POST', body: new URLSearchParams({ To: NUMBER }) })).status).toBe(
      403,
    );
    expect(
      (await fetch(`${url}0`, { method: 'POST', body: new URLSearchParams({ To: NUMBER }) })).status,
    ).toBe(403);
    expect(await sessionOf('+15557660002')).toBeUndefined();
  });

  it('places one call for one request, however often it comes', { timeout: 60_000 }, async () => {
    const [from, callSid] = ['+15557660003', VENDORS.twilio.newCallId()];
    // The answer to the first is lost, perhaps before it is made.
    const both = [askAboutCall(dialOf(from), callSid), askAboutCall(dialOf(from), callSid)];
    const answers = await Promise.all((await Promise.all(both)).map((response) => response.text()));
    const [lost, kept] = answers.map((text) => VENDORS.twilio.answer(text));
    if (!lost || !kept || !('url' in lost && 'url' in kept)) throw new Error('the call was rejected');
    const phone = await joinStream({ ...dialOf(from), callId: callSid }, kept.url);
    const call = await listenOn(product, from, talking(phone));
    await expect(joinStream({ ...dialOf(from), callId: callSid }, lost.url)).rejects.toThrow('403');
    expect(await (await askAboutCall(dialOf(from), callSid)).text()).toContain('<Reject');
    await call.hangUp();
    const find = `/v1/agent/sessions?caller_number=${encodeURIComponent(from)}`;
    expect((await product.ask('GET', find)).sessions).toHaveLength(1);
  });

  it('lets a stream be joined once', { timeout: 60_000 }, async () => {
    const phone = await dial(dialOf('+15557660004'));
    expect((await fetch(phone.url.replace(/^ws/, 'http'))).status).toBe(404);
    const { default: WebSocket } = await import('ws');
    const again = new WebSocket(phone.url);
    await expect(new Promise((_, reject) => again.once('error', reject))).rejects.toThrow('403');
    await phone.hangUp();
  });

  it('is left alone at Twilio once it is released', async () => {
    const number = '+14155550155';
    twilio.owned.push({ sid: `PN${'2'.repeat(32)}`, phone_number: number, voice_url: '' });
    const { body } = await connect({ phone_number: number });
    const urlOf = () => twilio.owned.find((row) => row['phone_number'] === number)?.['voice_url'];
    expect(urlOf()).toBe(`${PUBLIC_URL}/carriers/voice/${body.phone_number_id}`);
    await product.ask('DELETE', `/v1/agent/phone-numbers/${body.phone_number_id}`);
    expect(urlOf()).toBe('');
  });

  it('is busy while no agent answers it', async () => {
    const to = '+14155550157';
    twilio.owned.push({ sid: `PN${'4'.repeat(32)}`, phone_number: to, voice_url: '' });
    const { body } = await connect({ phone_number: to });
    const by = { ...dialOf('+15557660009'), voiceUrl: body.media_stream.voice_url, to };
    expect(await dialByStream(by)).toEqual({ rejected: 'busy' });
  });

  it('keeps its calls where they go, unless they are to be taken', async () => {
    const number = '+14155550156';
    const elsewhere = 'https://desk.example.com/voice';
    twilio.owned.push({ sid: `PN${'3'.repeat(32)}`, phone_number: number, voice_url: elsewhere });
    expect(await connect({ phone_number: number })).toMatchObject({ status: 409 });
    expect(await connect({ phone_number: number, replace: true })).toMatchObject({ status: 201 });
  });

  it('is given to the agent that is named when it is connected again', async () => {
    const named = { label: 'Front desk', agent_id: await demoAgentId(product) };
    const number = '+14155550158';
    twilio.owned.push({ sid: `PN${'5'.repeat(32)}`, phone_number: number, voice_url: '' });
    expect((await connect({ phone_number: number })).body).toMatchObject({ label: '', agent_id: null });
    expect((await connect({ phone_number: number, ...named })).body).toMatchObject(named);
    expect((await connect({ phone_number: number })).body).toMatchObject(named);
  });

  itNeeds(['chromium'])('is connected in the console', { timeout: 120_000 }, async () => {
    const number = '+14155550159';
    twilio.owned.push({ sid: `PN${'6'.repeat(32)}`, phone_number: number, voice_url: '' });
    const browser = await launchBrowser();
    const viewport = { width: 390, height: 844 };
    const person = await ConsolePage.open(browser, product, { key: product.rootKey, viewport });
    await person.go('/numbers');
    await person.press('Connect Twilio');
    const dialog = person.page.getByRole('dialog', { name: 'Connect a number of your Twilio account' });
    await dialog.getByLabel('Number').fill(number);
    await dialog.getByLabel('Account SID').fill(TWILIO_ACCOUNT.accountSid);
    await dialog.getByLabel('Auth token').fill('wrong');
    await person.press('Connect', dialog);
    await person.see(/Twilio refused the request/);
    expect([await person.overflows(), await person.seriousFindings()]).toEqual([false, []]);
    await dialog.getByLabel('Auth token').fill(TWILIO_ACCOUNT.authToken);
    await person.press('Connect', dialog);
    await person.see('Connected; choose an agent to answer it');
    const row = person.page.getByRole('row').filter({ hasText: number });
    await row.getByText('Connected to Twilio').waitFor();
    await browser.close();
  });

  it('says what is wrong with the account or the number', async () => {
    expect(await connect({ auth_token: 'wrong' })).toMatchObject({ status: 502 });
    const unknown = await connect({ phone_number: '+14155550199' });
    expect(unknown).toMatchObject({ status: 422 });
    expect(JSON.stringify(unknown.body)).toContain('no such number');
  });
});
