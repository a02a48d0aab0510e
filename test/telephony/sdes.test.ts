import { describe, expect, it } from 'vitest';
import { Fault } from '#config/errors.ts';
import { answerAudio, isAnswerable, offerAudio, readAnswer } from '#telephony/sdp.ts';

const OUR_KEY = Buffer.alloc(30, 1).toString('base64');
const THEIR_KEY = Buffer.alloc(30, 2).toString('base64');
const local = {
  address: '192.0.2.1',
  port: 20_000,
  sessionId: 7,
  version: 1,
  srtpKey: OUR_KEY,
  isSecure: false,
};
const offer = (protocol: string, ...lines: string[]) =>
  [
    'v=0',
    'o=- 1 1 IN IP4 192.0.2.9',
    's=-',
    'c=IN IP4 192.0.2.9',
    't=0 0',
    `m=audio 4000 ${protocol} 0`,
    ...lines,
    '',
  ].join('\r\n');
const line = (rest: string) => `a=crypto:1 ${rest}`;

describe('SRTP keys in descriptions (RFC 4568)', () => {
  it.each(['AES_CM_128_HMAC_SHA1_80', 'AES_CM_128_HMAC_SHA1_32'])(
    '%s is accepted under its own tag, with our own key',
    (suite) => {
      const { sdp, remote } = answerAudio(
        offer(
          'RTP/SAVP',
          'a=crypto:7 F8_128_HMAC_SHA1_80 inline:AAAA',
          `a=crypto:9 ${suite} inline:${THEIR_KEY}`,
        ),
        local,
      );
      expect(sdp).toContain('m=audio 20000 RTP/SAVP 0\r\n');
      expect(sdp.match(/^a=crypto:.*$/gm)).toEqual([`a=crypto:9 ${suite} inline:${OUR_KEY}`]);
      expect(remote.srtp).toEqual({ suite, sendKey: OUR_KEY, receiveKey: THEIR_KEY, receiveMkiBytes: 0 });
    },
  );

  it.each([
    ['a lifetime', `inline:${THEIR_KEY}|2^31`, 0],
    ['a lifetime and a key identifier', `inline:${THEIR_KEY}|2^20|1:4`, 4],
    ['a key identifier alone', `inline:${THEIR_KEY}|1:2`, 2],
    ['the size of the replay window', `inline:${THEIR_KEY} WSH=1024`, 0],
  ])('%s is accepted', (_, rest, mkiBytes) => {
    const { remote } = answerAudio(offer('RTP/SAVPF', line(`AES_CM_128_HMAC_SHA1_80 ${rest}`)), local);
    expect(remote.srtp).toMatchObject({ receiveKey: THEIR_KEY, receiveMkiBytes: mkiBytes });
  });

  it.each([
    ['no key at all', []],
    [
      'a suite we do not speak',
      [line(`AES_256_CM_HMAC_SHA1_80 inline:${Buffer.alloc(46).toString('base64')}`)],
    ],
    ['a key that is too short', [line('AES_CM_128_HMAC_SHA1_80 inline:AAAA')]],
    ['a wish for no encryption', [line(`AES_CM_128_HMAC_SHA1_80 inline:${THEIR_KEY} UNENCRYPTED_SRTP`)]],
    ['several keys', [line(`AES_CM_128_HMAC_SHA1_80 inline:${THEIR_KEY};inline:${OUR_KEY}`)]],
    ['keys by DTLS', ['a=fingerprint:sha-256 00']],
  ])('%s is not acceptable: 488', (_, lines) => {
    const sdp = offer('RTP/SAVP', ...lines);
    expect(isAnswerable(sdp)).toBe(false);
    try {
      answerAudio(sdp, local);
      expect.unreachable();
    } catch (error) {
      expect(error instanceof Fault && error.sipStatus).toBe(488);
    }
  });

  it('an offer with plain and protected sections is answered in the first supported one', () => {
    const encrypted = offer('RTP/SAVP', line('AES_CM_128_HMAC_SHA1_80 inline:AAAA'));
    const both = `${encrypted}m=audio 4002 RTP/AVP 8\r\n`;
    const { sdp, remote } = answerAudio(both, local);
    expect(remote).toMatchObject({ port: 4002, codec: 'PCMA' });
    expect(remote.srtp).toBeUndefined();
    expect(sdp.match(/^m=.*$/gm)).toEqual(['m=audio 0 RTP/SAVP 0', 'm=audio 20000 RTP/AVP 8']);
  });

  it('a key in a plain media section does not enable SRTP', () => {
    expect(
      answerAudio(offer('RTP/AVP', line(`AES_CM_128_HMAC_SHA1_80 inline:${THEIR_KEY}`)), local).remote.srtp,
    ).toBeUndefined();
  });

  it('our secure offer contains one suite and our key, and requires a secure answer', () => {
    const secure = { ...local, isSecure: true };
    const sdp = offerAudio(secure);
    expect(sdp).toMatch(/^m=audio 20000 RTP\/SAVP /m);
    expect(sdp.match(/^a=crypto:.*$/gm)).toEqual([`a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:${OUR_KEY}`]);
    const answer = answerAudio(sdp, { ...local, srtpKey: THEIR_KEY }).sdp;
    expect(readAnswer(answer, secure).srtp).toMatchObject({ sendKey: OUR_KEY, receiveKey: THEIR_KEY });
    expect(() => readAnswer(offer('RTP/AVP'), secure)).toThrow(Fault);
    expect(() => readAnswer(answer, local)).toThrow(Fault);
  });
});
