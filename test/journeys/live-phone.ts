/** A phone under a test's control: INVITE and BYE by the neutral caller, audio by a plain RTP peer. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { addressOf, SipCall } from '#caller/sip-call.ts';
import { decodeG711 } from '#media/dsp/g711.ts';
import type { LossyPath } from '#test/fakes/lossy-path.ts';
import { type HeardPacket, openRtpPeer, type RtpPeer } from '#test/fakes/rtp-peer.ts';

/** A 20 ms block at 8 kHz, with its arrival time. */
export interface HeardBlock {
  readonly atMs: number;
  readonly samples: Int16Array;
}

/** A phone in a call. */
export interface LivePhone {
  /** The media port in the answer. */
  readonly answeredPort: number;
  /** Media ports of the re-INVITEs so far; without a `path`, audio goes to the newest. */
  readonly moves: readonly number[];
  /** The other end hung up. */
  readonly isHungUpOn: boolean;
  /** All packets received so far. */
  readonly packets: readonly HeardPacket[];
  /** All audio received so far. */
  heard(): HeardBlock[];
  /** Audio received since a time, in the order it was sent, with lost packets filled in. */
  audioSince(atMs: number): Int16Array;
  /** Plays 8 kHz audio, then silence; resolves at the end of the audio. */
  speak(samples: Int16Array): Promise<unknown>;
  /** Ends the call, once. */
  hangUp(): Promise<void>;
}

/** Calls a number, optionally over a simulated network; resolves when the call is answered. */
export async function callLive(target: string, from: string, path?: LossyPath): Promise<LivePhone> {
  const peer = await openRtpPeer();
  const socket = createSocket('udp4');
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const call = new SipCall(socket, { target, from, localAddress: '127.0.0.1' });
  const mediaPort = path?.farPort ?? peer.port;
  // RTCP shares the audio port (rtcp-mux), because the next port may be in use.
  const answer = await call.invite(
    `v=0\r\no=phone 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio ${mediaPort} ` +
      'RTP/AVP 0\r\na=rtpmap:0 PCMU/8000\r\na=rtcp-mux\r\n',
  );
  if (answer.type !== 'answered')
    throw new Error(`${addressOf(target).host} refused the call with ${answer.status}`);
  const answeredPort = mediaPortOf(answer.sdp);
  path?.connect({ near: peer.port, far: answeredPort });
  let port = path?.nearPort ?? answeredPort;
  const moves: number[] = [];
  call.onOffer((sdp) => {
    moves.push(mediaPortOf(sdp));
    if (!path) port = mediaPortOf(sdp);
  });
  let isOver = false;
  let isHungUpOn = false;
  void call.hungUp.then(() => {
    isHungUpOn = !isOver;
  });
  // An open line always carries packets.
  await peer.speak(() => port, new Int16Array(160));
  return {
    answeredPort,
    moves,
    get isHungUpOn() {
      return isHungUpOn;
    },
    packets: peer.heard,
    heard: decoderOf(peer),
    audioSince: (sinceMs) => peer.audio(peer.heard.filter(({ atMs }) => atMs >= sinceMs)),
    speak: (samples) => peer.speak(() => port, samples),
    async hangUp() {
      if (isOver) return;
      isOver = true;
      await call.hangUp();
      call.close();
      peer.close();
      socket.close();
    },
  };
}

function mediaPortOf(sdp: string): number {
  return Number(/^m=audio (\d+) /m.exec(sdp)?.[1]);
}

/** Decodes each packet once, however often the audio is read. */
function decoderOf(peer: RtpPeer): () => HeardBlock[] {
  const blocks: HeardBlock[] = [];
  return () => {
    for (const { atMs, payload } of peer.heard.slice(blocks.length)) {
      const samples = new Int16Array(payload.length);
      decodeG711('PCMU', payload, samples);
      blocks.push({ atMs, samples });
    }
    return [...blocks];
  };
}
