/** Questions of vendors about calls, signed by stand-ins that follow the vendors' documentation. */
import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { VENDORS } from '#caller/vendor-dialects.ts';
import { streamVendor } from '#protocol/media-streams.ts';
import { formOf, type StreamQuestion } from '#telephony/carriers/stream-carrier.ts';
import { streamCarrier } from '#telephony/carriers/stream-carriers.ts';

const URL_OF_NUMBER = 'https://phone.example.com/carriers/voice/n1';
const keys = generateKeyPairSync('ed25519');
const publicKey = Buffer.from(keys.publicKey.export({ format: 'jwk' }).x ?? '', 'base64url').toString(
  'base64',
);
const privateKey = keys.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();

describe.each(streamVendor.options)('a question of %s about a call', (vendor) => {
  const isTelnyx = vendor === 'telnyx';
  const account = { account: isTelnyx ? '' : 'A1', secret: isTelnyx ? publicKey : 'the secret' };
  const callId = VENDORS[vendor].newCallId();

  function question(to = '+14155550123'): StreamQuestion {
    const secret = isTelnyx ? privateKey : account.secret;
    const call = {
      account: account.account,
      secret,
      voiceUrl: URL_OF_NUMBER,
      callId,
      from: '+14155550111',
      to,
    };
    const { headers, body } = VENDORS[vendor].ask(call);
    return { url: URL_OF_NUMBER, headers, body, atMs: Date.now() };
  }
  const read = async (asked: StreamQuestion, by = account) => (await streamCarrier(vendor)).read(by, asked);

  it('names the call and the caller', async () => {
    expect(await read(question())).toEqual({ callId, callerNumber: '+14155550111' });
  });

  it('is refused if anything of it was changed', async () => {
    const [asked, other] = [question(), question('+14155550199')];
    const forged = [
      { ...asked, body: other.body },
      { ...asked, headers: {} },
      { ...asked, headers: Object.fromEntries(Object.keys(asked.headers).map((name) => [name, 'Bearer x'])) },
    ];
    for (const each of forged)
      await expect(async () => read(each)).rejects.toMatchObject({ code: 'callback_not_genuine' });
    const by = { ...account, secret: isTelnyx ? Buffer.alloc(32).toString('base64') : 'another secret' };
    await expect(async () => read(asked, by)).rejects.toMatchObject({ code: 'callback_not_genuine' });
  });

  it('is answered with a stream, or with a refusal', async () => {
    const carrier = await streamCarrier(vendor);
    const url = 'wss://phone.example.com/carriers/streams/a-ticket';
    expect(VENDORS[vendor].answer(carrier.connect(url).body)).toEqual({ url });
    expect(VENDORS[vendor].answer(carrier.reject('busy').body)).toEqual({
      rejected: vendor === 'vonage' ? 'nothing' : 'busy',
    });
  });
});

it.each(['telnyx', 'vonage'] as const)('an old question of %s is refused', async (vendor) => {
  const isTelnyx = vendor === 'telnyx';
  const call = {
    account: 'A1',
    voiceUrl: URL_OF_NUMBER,
    callId: 'c1',
    from: '+14155550111',
    to: '+14155550123',
  };
  const { headers, body } = VENDORS[vendor].ask({ ...call, secret: isTelnyx ? privateKey : 'the secret' });
  const asked = { url: URL_OF_NUMBER, headers, body, atMs: Date.now() + 301_000 };
  const by = { account: 'A1', secret: isTelnyx ? publicKey : 'the secret' };
  await expect(async () => (await streamCarrier(vendor)).read(by, asked)).rejects.toMatchObject({
    code: 'callback_not_genuine',
  });
});

it('a question with more fields than any vendor sends is refused', () => {
  const form = (count: number) => () => formOf(`CallSid=c1${'&a'.repeat(count - 1)}`);
  expect(form(500)()).toMatchObject({ CallSid: 'c1' });
  expect(form(501)).toThrow(expect.objectContaining({ code: 'callback_not_genuine' }));
});
