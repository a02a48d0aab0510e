/** A phone that a test speaks with for as long as it likes: INVITE and BYE by the neutral caller, its audio by a plain RTP far end. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { addressOf, SipCall } from '#bench/caller/sip-call.ts';
import { decodeG711 } from '#media/codecs.ts';
import type { RtpCodec } from '#media/leg.ts';
import { CODECS } from '#media/rtp/codec-table.ts';
import type { LossyPath } from '#test/fakes/lossy-path.ts';
import { openRtpPeer, type RtpPeer } from '#test/fakes/rtp-peer.ts';

/** A packet of 20 ms at 8 kHz, with when it came. */
export interface HeardBlock {
  readonly atMs: number;
  readonly samples: Int16Array;
}

/** A phone in a call. */
export interface LivePhone {
  /** Rate of what it says, Hz: that of its codec. */
  readonly rateHz: number;
  /** Everything heard so far, of a phone that speaks PCMU. */
  heard(): HeardBlock[];
  /** Everything heard so far at 8 kHz, in order, with silence for what was lost. */
  audio(): Int16Array;
  /** Says something, then silence; resolves once it is said. */
  speak(samples: Int16Array): Promise<unknown>;
  /** Presses keys as telephone events. */
  press(keys: string): void;
  hangUp(): Promise<void>;
}

/** What kind of phone it is. */
export interface LivePhoneOptions {
  readonly codec?: RtpCodec;
  /** The network its audio goes through, both ways. */
  readonly path?: LossyPath;
}

/** Calls a number; resolves when it is answered. */
export async function callLive(target: string, from: string, { codec = 'PCMU', path }: LivePhoneOptions = {}): Promise<LivePhone> {
  const peer = await openRtpPeer(codec);
  const socket = createSocket('udp4');
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const call = new SipCall(socket, { target, from, localAddress: '127.0.0.1' });
  const answer = await call.invite(offerOf(peer, codec, path?.farPort ?? peer.port));
  if (answer.type !== 'answered') throw new Error(`${addressOf(target).host} refused the call with ${answer.status}`);
  const answered = Number(/^m=audio (\d+) /m.exec(answer.sdp)?.[1]);
  path?.connect({ near: peer.port, far: answered });
  const port = path?.nearPort ?? answered;
  // A line that is open is never without packets.
  await peer.speak(port, new Int16Array(160));
  return {
    rateHz: peer.rateHz,
    heard: () => decoded(peer),
    audio: () => peer.audio(),
    speak: (samples) => peer.speak(port, samples),
    press: (keys) => peer.press(keys),
    async hangUp() {
      await call.hangUp();
      call.close();
      peer.close();
      socket.close();
    },
  };
}

/** Reports go where the audio goes: the port above may be somebody else's. */
function offerOf(peer: RtpPeer, codec: RtpCodec, port: number): string {
  const { payloadType, digitPayloadType } = peer.remote;
  const { encoding, clockHz } = CODECS[codec];
  const lines = [
    ...['v=0', 'o=phone 1 1 IN IP4 127.0.0.1', 's=-', 'c=IN IP4 127.0.0.1', 't=0 0'],
    `m=audio ${port} RTP/AVP ${payloadType} ${digitPayloadType}`,
    `a=rtpmap:${payloadType} ${encoding}`,
    `a=rtpmap:${digitPayloadType} telephone-event/${clockHz}`,
    'a=rtcp-mux',
  ];
  return lines.map((line) => `${line}\r\n`).join('');
}

function decoded(peer: RtpPeer): HeardBlock[] {
  return peer.heard.map(({ atMs, payload }) => {
    const samples = new Int16Array(payload.length);
    decodeG711('PCMU', payload, samples);
    return { atMs, samples };
  });
}
