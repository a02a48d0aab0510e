import { describe, expect, it } from 'vitest';
import { checkedOffer } from '#media/webrtc/sdp-offer.ts';

/** As written by Firefox, Safari and Chrome. */
const SESSION = [
  'v=0',
  'o=mozilla...THIS_IS_SDPARTA-99.0 4294967296 0 IN IP4 0.0.0.0',
  's=-',
  't=0 0',
  'a=sendrecv',
  'a=ice-options:trickle',
  'a=msid-semantic:WMS *',
];
const FINGERPRINT = `a=fingerprint:sha-256 ${Array.from({ length: 32 }, () => 'AB').join(':')}`;
const AUDIO = [
  'm=audio 50000 UDP/TLS/RTP/SAVPF 109 9 0 8 101',
  'c=IN IP6 2001:db8::1',
  'a=candidate:0 1 UDP 2122187007 4d5a7c0e-0000-4000-8000-000000000000.local 50000 typ host',
  'a=candidate:842163049 1 udp 1677729535 203.0.113.7 50000 typ srflx raddr 0.0.0.0 rport 0 generation 0 ' +
    'ufrag hWmQ network-cost 999',
  'a=candidate:3 1 TCP 2105524479 192.0.2.1 9 typ host tcptype active',
  'a=extmap:1 urn:ietf:params:rtp-hdrext:ssrc-audio-level',
  'a=extmap:2/recvonly urn:ietf:params:rtp-hdrext:csrc-audio-level',
  'a=fmtp:109 maxplaybackrate=48000;stereo=1;useinbandfec=1',
  'a=ice-pwd:e6ebdd7a8ec59d2a9e8e2f5a1c1e9d3b',
  'a=ice-ufrag:f0e1d2c3',
  'a=mid:0',
  'a=msid:{7d0a4c1e-1b2c-4d3e-8f4a-5b6c7d8e9f00} {0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9}',
  'a=rtcp-mux',
  'a=rtpmap:109 opus/48000/2',
  'a=setup:actpass',
  'a=ssrc:2655508255 cname:{735484ea-4f6c-f74a-bd66-7425f8476c2e}',
];
const DATA = [
  'm=application 9 UDP/DTLS/SCTP webrtc-datachannel',
  'c=IN IP4 0.0.0.0',
  'a=mid:1',
  'a=sctp-port:5000',
  'a=max-message-size:1073741823',
];
const offerOf = (...lines: readonly (readonly string[])[]) => `${lines.flat().join('\r\n')}\r\n`;
const WHOLE = offerOf(SESSION, [FINGERPRINT], AUDIO, DATA);

describe('an offer', () => {
  it('stays unchanged if it is a browser’s', () => {
    expect(checkedOffer(WHOLE)).toBe(WHOLE);
    expect(checkedOffer(WHOLE.replaceAll('\r\n', '\n'))).toBe(WHOLE);
  });

  it('loses lines that browsers do not write', () => {
    const strange = [
      'a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:AAAA',
      'x=1',
      'a=mid:\u0000',
      'a=rtpmap:999999 x/1',
      'a=setup:everyone',
      `a=fmtp:109 ${'x'.repeat(2_000)}`,
    ];
    expect(checkedOffer(offerOf(SESSION, [FINGERPRINT], AUDIO, strange, DATA))).toBe(WHOLE);
  });

  it('is rejected with an unknown media type', () => {
    expect(checkedOffer(WHOLE.replace('m=application', 'm=applikation'))).toBeNull();
    expect(checkedOffer(WHOLE.replace('RTP/SAVPF', 'RTP/\u0000'))).toBeNull();
    expect(checkedOffer(WHOLE.replace(' 109 9', ''.padEnd(4_000, ' 9')))).toBeNull();
  });

  it('is limited in candidates and sources, and rejected with too many sections', () => {
    const many = (line: string, count: number) =>
      Array.from({ length: count }, (_, n) => line.replace('N', String(n)));
    const candidates =
      checkedOffer(offerOf(SESSION, AUDIO, many('a=candidate:N 1 udp 1 192.0.2.1 9 typ host', 1_000))) ?? '';
    expect(candidates.match(/^a=candidate/gm)).toHaveLength(128);
    const sources = checkedOffer(offerOf(SESSION, AUDIO, many('a=ssrc:N cname:a', 3_000))) ?? '';
    expect(sources.match(/^a=ssrc/gm)).toHaveLength(64);
    expect(checkedOffer(offerOf(SESSION, many('m=audio 9 UDP/TLS/RTP/SAVPF 0', 9)))).toBeNull();
    expect(checkedOffer('v'.repeat(200_001))).toBeNull();
  });
});
