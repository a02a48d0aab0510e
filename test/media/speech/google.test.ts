import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Clock } from '#base/clock.ts';
import type { RecognitionOptions } from '#media/speech/speech.ts';
import { createGoogleRecognizer } from '#media/speech/vendors/google.ts';
import { apiAddress } from '#media/speech/vendors/google-access.ts';
import {
  type GoogleRecognitionServer,
  startGoogleRecognitionServer,
} from '#test/fakes/google-recognition-server.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { buzz, expectVendorsTurnOnce, Recording, recognizerConforms, silence } from './conformance.ts';
import {
  expectEndlessTurnStalls,
  expectSilenceStalls,
  expectUnopenedStalls,
  patientClock,
  recognizerFailuresConform,
  vendorsOf,
} from './vendor-conformance.ts';

const RATE = 8_000;
const MODEL = 'latest_long';
const vendor = vendorsOf(startGoogleRecognitionServer);

const recognizerAt = (server: GoogleRecognitionServer, clock: Clock = patientClock, apiKey?: string) =>
  createGoogleRecognizer(MODEL, { baseUrl: server.url, apiKey, clock });
const listen = (server: GoogleRecognitionServer, clock?: Clock, apiKey?: string) =>
  new Recording(recognizerAt(server, clock, apiKey), RATE, ['Parley']);
const heardAt = (server: GoogleRecognitionServer, call = 0) =>
  expect.poll(() => server.connections[call]?.audioBytes, { timeout: 20_000 });

/** The first message of the call that is made for an agent. */
async function requested(model: string, agent: Partial<RecognitionOptions>) {
  const server = await vendor();
  const recognizer = createGoogleRecognizer(model, {
    baseUrl: server.url,
    apiKey: undefined,
    clock: patientClock,
  });
  const stream = recognizer.open({
    sampleRateHz: RATE,
    language: 'en',
    multilingual: false,
    keyterms: [],
    onEvent: () => {},
    ...agent,
  });
  stream.write(new Int16Array(4_800));
  await expect.poll(() => server.connections[0]?.messages.length, { timeout: 20_000 }).toBe(1);
  stream.close();
  return server.connections[0]?.messages[0];
}

/** A key file of a service account, and the key that verifies its tokens. */
function serviceAccount() {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: 2_048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  const file = join(mkdtempSync(join(tmpdir(), 'parley-google-')), 'key.json');
  const email = 'caller@bakery.iam.gserviceaccount.com';
  writeFileSync(
    file,
    JSON.stringify({
      type: 'service_account',
      client_email: email,
      private_key: privateKey,
      private_key_id: 'k1',
    }),
  );
  const claimsOf = (authorization: string | undefined): Record<string, unknown> | null => {
    const [head = '', claims = '', signature = ''] = (authorization ?? '').replace(/^Bearer /, '').split('.');
    const isSigned = verify(
      'sha256',
      Buffer.from(`${head}.${claims}`),
      createPublicKey(publicKey),
      Buffer.from(signature, 'base64url'),
    );
    return isSigned
      ? (JSON.parse(String(Buffer.from(claims, 'base64url'))) as Record<string, unknown>)
      : null;
  };
  return { file, email, claimsOf };
}

describe('conformance', () => {
  for (const delayMs of [0, 30]) {
    describe(`answers ${delayMs} ms late`, () => {
      recognizerConforms(async () => {
        const phrases = ['what are your opening hours', 'please transfer me'];
        const server = await vendor({ lines: phrases, delayMs });
        const recognizer = recognizerAt(server);
        return { recognizer, sampleRateHz: RATE, speech: [buzz(RATE, 900), buzz(RATE, 700)], phrases };
      });
    });
  }
});

describe('Google', () => {
  it('asks for the model, the rate, the locale of the agent’s language and the keyterms', async () => {
    expect(await requested('telephony', { language: 'de', keyterms: ['Parley', 'Brezel'] })).toEqual({
      rate: 8_000,
      language: 'de-DE',
      model: 'telephony',
      phrases: ['Parley', 'Brezel'],
    });
    expect(await requested('latest_long', { language: 'zh', sampleRateHz: 48_000 })).toEqual({
      rate: 16_000,
      language: 'cmn-Hans-CN',
      model: 'latest_long',
      phrases: [],
    });
  });

  it('reports words as they arrive, and each vendor-ended phrase once, with its times', async () => {
    const server = await vendor({ lines: ['book a table'] });
    await expectVendorsTurnOnce(listen(server), RATE);
  });

  it('loses no audio written while the connection opens or a turn ends', async () => {
    const server = await vendor({ delayMs: 30 });
    const heard = listen(server);
    for (const ms of [600, 800, 600]) {
      heard.write(buzz(RATE, ms));
      heard.stream.finalise();
    }
    await heard.until('finalised', 3);
    expect(heard.finals).toBe('hello hello hello');
    expect(server.connections.reduce((sum, call) => sum + call.audioBytes, 0)).toBe(3.2 * RATE * 2);
    expect(heard.of('final')).toMatchObject([{ startMs: 0 }, { startMs: 1_000 }, { startMs: 2_200 }]);
    heard.stream.close();
  });

  it('a call is ended before the vendor ends it, without losing a word', async () => {
    const server = await vendor();
    const clock = new ManualClock();
    const heard = listen(server, clock);
    heard.write(silence(RATE, 300));
    await heardAt(server).toBe(0.3 * RATE * 2);
    await clock.advance(240_001);
    heard.write(buzz(RATE, 600));
    heard.stream.finalise();
    await heard.until('finalised');
    expect(heard.of('final')).toMatchObject([{ text: 'hello', startMs: 300 }]);
    expect(server.connections).toHaveLength(2);
    heard.stream.close();
  });

  it('a vendor that asks for another connection gets one', async () => {
    const server = await vendor({ lines: ['good morning', 'good bye'] });
    const heard = listen(server);
    heard.write(buzz(RATE, 600));
    await heard.until('interim');
    server.leave();
    heard.stream.finalise();
    await heard.until('finalised');
    heard.write(buzz(RATE, 600));
    heard.stream.finalise();
    await heard.until('finalised', 2);
    expect(heard.finals).toBe('good morning good morning');
    heard.stream.close();
  });

  it('a call that never ends is reported as stalled', async () => {
    const server = await vendor({ isEndless: true });
    await expectEndlessTurnStalls((clock) => listen(server, clock), RATE);
  });

  it('a connection that never opens is reported as stalled', async () => {
    await expectUnopenedStalls(await vendor(), listen);
  });

  it.each([true, false])(
    'a vendor that accepts speech and answers nothing stalls, finalised %s',
    async (asks) => {
      await expectSilenceStalls(await vendor(), listen, { rateHz: RATE, asks, sentMs: asks ? 960 : 900 });
    },
  );

  it('a service account signs a token for an hour, which serves until shortly before its end', async () => {
    const { file, email, claimsOf } = serviceAccount();
    const server = await vendor({ mayEnter: (authorization?: string) => claimsOf(authorization) !== null });
    const clock = new ManualClock();
    const recognizer = createGoogleRecognizer(MODEL, {
      baseUrl: server.url,
      apiKey: 'unused',
      keyFile: file,
      clock,
    });
    for (const [count, waitMs] of [
      [1, 3_290_000],
      [2, 20_000],
      [3, 0],
    ] as const) {
      const heard = new Recording(recognizer, RATE);
      heard.write(buzz(RATE, 300));
      await heardAt(server, count - 1).toBeGreaterThan(0);
      heard.stream.close();
      await clock.advance(waitMs);
    }
    const tokens = server.connections.map(({ headers }) => String(headers['authorization']));
    const claims = claimsOf(tokens[0]);
    expect(claims).toMatchObject({ iss: email, sub: email, aud: 'https://speech.googleapis.com/' });
    expect(Number(claims?.['exp']) - Number(claims?.['iat'])).toBe(3_600);
    expect(tokens[1]).toBe(tokens[0]);
    expect(tokens[2]).not.toBe(tokens[0]);
  });

  it('a key file that cannot be used says which setting to correct, and is not quoted', async () => {
    const server = await vendor();
    const file = join(mkdtempSync(join(tmpdir(), 'parley-google-')), 'key.json');
    writeFileSync(file, '{"private_key": "not-to-be-seen"}');
    for (const keyFile of [file, `${file}.missing`]) {
      const recognizer = createGoogleRecognizer(MODEL, {
        baseUrl: server.url,
        apiKey: undefined,
        keyFile,
        clock: patientClock,
      });
      const heard = new Recording(recognizer, RATE);
      heard.write(buzz(RATE, 300));
      await heard.until('failed');
      expect(heard.of('failed')).toMatchObject([
        {
          error: {
            category: 'authentication',
            message: expect.stringContaining('GOOGLE_CLOUD_KEY_FILE must'),
          },
        },
      ]);
      expect(JSON.stringify(heard.events)).not.toContain('not-to-be-seen');
    }
  });

  it.each([
    [3, 'bad_request', /“no”/],
    [7, 'authentication', /GOOGLE_CLOUD_API_KEY or GOOGLE_CLOUD_KEY_FILE/],
    [8, 'overloaded', /“no”/],
    [11, 'connectivity', /“no”/],
    [13, 'unavailable', /“no”/],
  ])('a call that ends with the status %i is %s', async (code, category, message) => {
    const heard = listen(await vendor({ status: { code, message: 'no' } }));
    heard.write(buzz(RATE, 600));
    await heard.until('failed');
    expect(heard.of('failed')).toMatchObject([
      { error: { category, message: expect.stringMatching(message) } },
    ]);
  });

  it('Google’s APIs have hosts of their own, and another server has one address', () => {
    expect(apiAddress('https://googleapis.com', 'speech')).toBe('https://speech.googleapis.com');
    expect(apiAddress('https://googleapis.com', 'texttospeech')).toBe('https://texttospeech.googleapis.com');
    expect(apiAddress('ws://127.0.0.1:5000', 'speech')).toBe('http://127.0.0.1:5000');
  });

  recognizerFailuresConform(vendor, (server, apiKey) => {
    const heard = listen(server as GoogleRecognitionServer, patientClock, apiKey);
    // The first audio begins the call.
    heard.write(buzz(RATE, 300));
    return heard;
  });
});
