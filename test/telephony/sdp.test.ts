import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Fault } from '#config/errors.ts';
import { answerAudio, isSameAudio, offerAudio, readRemote } from '#telephony/sdp.ts';

const local = {
  address: '192.0.2.1',
  port: 20_000,
  sessionId: 7,
  version: 1,
  srtpKey: 'ownKey',
  isSecure: false,
};
const head = ['v=0', 'o=- 1 1 IN IP4 192.0.2.9', 's=-', 'c=IN IP4 192.0.2.9', 't=0 0'];
const sdp = (...lines: string[]) => [...head, ...lines, ''].join('\r\n');
const refusal = (offer: string) => {
  try {
    answerAudio(offer, local);
    return null;
  } catch (error) {
    return error instanceof Fault
      ? { code: error.code, sip: error.sipStatus }
      : { code: String(error), sip: 0 };
  }
};

describe('answers to offers (RFC 3264)', () => {
  it('picks the first offered codec that both support, with its payload types', () => {
    const { sdp: answer, remote } = answerAudio(
      sdp(
        'm=audio 4000 RTP/AVP 18 8 0 96',
        'a=rtpmap:18 G729/8000',
        'a=rtpmap:96 telephone-event/8000',
        'a=fmtp:96 0-16',
      ),
      local,
    );
    expect(remote).toEqual({
      address: '192.0.2.9',
      port: 4000,
      codec: 'PCMA',
      payloadType: 8,
      digitPayloadType: 96,
      sending: true,
    });
    expect(answer.split('\r\n')).toEqual([
      'v=0',
      'o=parley 7 1 IN IP4 192.0.2.1',
      's=-',
      'c=IN IP4 192.0.2.1',
      't=0 0',
      'm=audio 20000 RTP/AVP 8 96',
      'a=rtpmap:8 PCMA/8000',
      'a=rtpmap:96 telephone-event/8000',
      'a=fmtp:96 0-15',
      'a=ptime:20',
      'a=sendrecv',
      '',
    ]);
  });

  it('accepts G.722 without an rtpmap, because its payload type is static', () => {
    const { sdp: answer, remote } = answerAudio(sdp('m=audio 4000 RTP/AVP 9 0'), local);
    expect(remote).toMatchObject({ codec: 'G722', payloadType: 9 });
    expect(answer).toContain('a=rtpmap:9 G722/8000\r\n');
  });

  it('answers Opus with the telephone events of its clock (RFC 7587 §7)', () => {
    const lines = [
      'a=rtpmap:96 opus/48000/2',
      'a=fmtp:96 maxplaybackrate=16000',
      'a=rtpmap:97 telephone-event/8000',
      'a=rtpmap:98 telephone-event/48000',
    ];
    const { sdp: answer, remote } = answerAudio(sdp('m=audio 4000 RTP/AVP 96 0 97 98', ...lines), local);
    expect(remote).toMatchObject({
      codec: 'opus',
      payloadType: 96,
      digitPayloadType: 98,
      digitClockHz: 48_000,
    });
    expect(answer.split('\r\n')).toEqual(
      expect.arrayContaining([
        'm=audio 20000 RTP/AVP 96 98',
        'a=rtpmap:96 opus/48000/2',
        'a=rtpmap:98 telephone-event/48000',
      ]),
    );
    expect(answer).not.toContain('useinbandfec');
  });

  it.each([
    ['minptime=20;maxaveragebitrate=20000;useinbandfec=1', 20_000],
    ['maxaveragebitrate=20000', 20_000],
    ['maxaveragebitrate=5999', undefined],
    ['maxaveragebitrate=510001', undefined],
    ['maxplaybackrate=16000', undefined],
  ])('of Opus with the parameters %s takes at most %s bit/s (RFC 7587 §6.1)', (parameters, maxBitRate) => {
    const lines = ['a=rtpmap:96 opus/48000/2', `a=fmtp:96 ${parameters}`];
    expect(readRemote(sdp('m=audio 4000 RTP/AVP 96', ...lines), local).maxBitRate).toBe(maxBitRate);
  });

  it('accepts telephone events of 8 kHz beside Opus if there are no others', () => {
    const { remote } = answerAudio(
      sdp('m=audio 4000 RTP/AVP 96 97', 'a=rtpmap:96 OPUS/48000/2', 'a=rtpmap:97 telephone-event/8000'),
      local,
    );
    expect(remote).toMatchObject({ codec: 'opus', digitPayloadType: 97 });
  });

  it('accepts G.711 under a dynamic payload type and offers without telephone-event', () => {
    const { remote } = answerAudio(sdp('m=audio 4000 RTP/AVP 97', 'a=rtpmap:97 pcmu/8000/1'), local);
    expect(remote).toMatchObject({ codec: 'PCMU', payloadType: 97, digitPayloadType: null });
  });

  it('RTCP shares the media port only if the offer says so (RFC 5761 §5.1.1)', () => {
    const offered = answerAudio(sdp('m=audio 4000 RTP/AVP 0', 'a=rtcp-mux'), local);
    expect(offered.remote.isRtcpMuxed).toBe(true);
    expect(offered.sdp).toContain('a=rtcp-mux\r\n');
    const plain = answerAudio(sdp('m=audio 4000 RTP/AVP 0'), local);
    expect(plain.remote.isRtcpMuxed).toBeUndefined();
    expect(plain.sdp).not.toContain('rtcp-mux');
  });

  it('rejects telephone-event with another clock rate', () => {
    expect(
      answerAudio(sdp('m=audio 4000 RTP/AVP 0 101', 'a=rtpmap:101 telephone-event/48000'), local).remote
        .digitPayloadType,
    ).toBeNull();
  });

  it('answers every section in order and refuses all but the first usable audio', () => {
    const { sdp: answer } = answerAudio(
      sdp(
        'm=video 5000 RTP/AVP 31 34',
        'm=audio 0 RTP/AVP 0',
        'm=audio 5002 RTP/SAVP 0',
        'm=audio 5004 RTP/AVP 0',
        'm=audio 5006 RTP/AVP 0',
      ),
      local,
    );
    expect(answer.split('\r\n').filter((line) => line.startsWith('m='))).toEqual([
      'm=video 0 RTP/AVP 31 34',
      'm=audio 0 RTP/AVP 0',
      'm=audio 0 RTP/SAVP 0',
      'm=audio 20000 RTP/AVP 0',
      'm=audio 0 RTP/AVP 0',
    ]);
  });

  it.each([
    ['sendrecv', true, 'sendrecv'],
    ['sendonly', false, 'recvonly'],
    ['recvonly', true, 'sendonly'],
    ['inactive', false, 'inactive'],
  ])('a=%s: we send %s and answer a=%s', (direction, sending, answered) => {
    const { sdp: answer, remote } = answerAudio(sdp('m=audio 4000 RTP/AVP 0', `a=${direction}`), local);
    expect(remote.sending).toBe(sending);
    expect(answer).toContain(`a=${answered}\r\n`);
  });

  it('a session-level direction applies to sections without their own', () => {
    expect(answerAudio(sdp('a=inactive', 'm=audio 4000 RTP/AVP 0'), local).remote.sending).toBe(false);
    expect(answerAudio(sdp('a=inactive', 'm=audio 4000 RTP/AVP 0', 'a=sendrecv'), local).remote.sending).toBe(
      true,
    );
  });

  it('0.0.0.0 is a hold regardless of the direction', () => {
    const { sdp: answer, remote } = answerAudio(
      sdp('m=audio 4000 RTP/AVP 0', 'c=IN IP4 0.0.0.0', 'a=sendrecv'),
      local,
    );
    expect(remote.sending).toBe(false);
    expect(answer).toContain('a=recvonly');
  });

  it('the section’s own address takes precedence; IPv6 is written as IP6', () => {
    const { sdp: answer, remote } = answerAudio(sdp('m=audio 4000 RTP/AVP 0', 'c=IN IP6 2001:db8::1'), {
      ...local,
      address: '2001:db8::2',
    });
    expect(remote.address).toBe('2001:db8::1');
    expect(answer).toContain('c=IN IP6 2001:db8::2\r\n');
  });

  it('an offer without a common codec is rejected with 488', () => {
    expect(refusal(sdp('m=audio 4000 RTP/AVP 18 112', 'a=rtpmap:112 opus/16000'))).toEqual({
      code: 'no_common_codec',
      sip: 488,
    });
  });

  it.each([
    ['nothing', ''],
    ['no audio', sdp('m=video 4000 RTP/AVP 31')],
    ['audio turned off', sdp('m=audio 0 RTP/AVP 0')],
    ['an impossible port', sdp('m=audio 70000 RTP/AVP 0')],
    ['a name for an address', sdp('m=audio 4000 RTP/AVP 0', 'c=IN IP4 media.example.com')],
    ['a multicast group', sdp('m=audio 4000 RTP/AVP 0', 'c=IN IP4 239.1.1.1')],
    ['a header smuggled into a format', sdp('m=audio 4000 RTP/AVP 0;x')],
    ['SRTP only', sdp('m=audio 4000 RTP/SAVP 0')],
    ['too many lines', sdp(...Array.from({ length: 1001 }, () => 'a=x'), 'm=audio 4000 RTP/AVP 0')],
  ])('%s is rejected with 488', (_, offer) => {
    expect(refusal(offer)).toEqual({ code: 'sdp_unusable', sip: 488 });
  });
});

describe('our own offers', () => {
  it('our answerer accepts our offer, and we accept its answer', () => {
    const answered = answerAudio(offerAudio(local), { ...local, address: '192.0.2.5', port: 30_000 });
    expect(answered.remote).toEqual({
      address: '192.0.2.1',
      port: 20_000,
      codec: 'PCMU',
      payloadType: 0,
      digitPayloadType: 101,
      sending: true,
    });
    expect(readRemote(answered.sdp, local)).toEqual({
      ...answered.remote,
      address: '192.0.2.5',
      port: 30_000,
    });
  });

  it('a refresh is distinguished from a hold and from a new address', () => {
    const { remote } = answerAudio(sdp('m=audio 4000 RTP/AVP 0'), local);
    expect(isSameAudio(remote, { ...remote })).toBe(true);
    expect(isSameAudio(remote, { ...remote, sending: false })).toBe(false);
    expect(isSameAudio(remote, { ...remote, port: 4002 })).toBe(false);
  });
});

describe('descriptions from the network', () => {
  const line = fc.oneof(
    fc.string({ maxLength: 60 }),
    fc.constantFrom(
      ...head,
      'm=audio 4000 RTP/AVP 0 8 101',
      'm=video 1 RTP/AVP 31',
      'a=rtpmap:101 telephone-event/8000',
      'a=sendonly',
      'c=IN IP4 0.0.0.0',
    ),
    fc
      .tuple(fc.constantFrom('m=audio ', 'c=IN IP4 ', 'a=rtpmap:', 't='), fc.string({ maxLength: 40 }))
      .map(([start, rest]) => start + rest),
  );

  it('are either answered section by section or rejected by a fault', () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 40 }), (lines) => {
        const offer = ['v=0', ...lines].join('\r\n');
        try {
          const { sdp: answer, remote } = answerAudio(offer, local);
          const sections = (text: string) =>
            text.split(/[\r\n]+/).filter((candidate) => candidate.startsWith('m='));
          expect(sections(answer).length).toBe(sections(offer).length);
          expect(
            answer
              .split('\r\n')
              .every((candidate) => candidate === '' || /^[votscma]=[^\r\n]*$/.test(candidate)),
          ).toBe(true);
          expect(remote.port).toBeGreaterThan(0);
          expect(remote.payloadType).toBeLessThan(128);
        } catch (error) {
          if (!(error instanceof Fault)) throw error;
        }
      }),
      { numRuns: 2000 },
    );
  });
});
