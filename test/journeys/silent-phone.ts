/** A phone that calls and sends no audio until a test switches it on. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { SipCall } from '#caller/sip-call.ts';
import { openRtpPeer } from '#test/fakes/rtp-peer.ts';

const RATE_HZ = 8_000;

/** A phone in a call. */
export interface SilentPhone {
  /** Starts sending silence, as a phone with a muted microphone does. */
  send(): void;
  hangUp(): Promise<void>;
}

/** Calls `target` from the loopback. */
export async function callSilently(target: string, from: string): Promise<SilentPhone> {
  const socket = createSocket('udp4');
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const peer = await openRtpPeer();
  const call = new SipCall(socket, { target, from, localAddress: '127.0.0.1' });
  const answer = await call.invite(
    [
      'v=0',
      'o=phone 1 1 IN IP4 127.0.0.1',
      's=-',
      'c=IN IP4 127.0.0.1',
      't=0 0',
      `m=audio ${peer.port} RTP/AVP 0`,
      '',
    ].join('\r\n'),
  );
  if (answer.type !== 'answered') throw new Error(`refused with ${answer.status}`);
  const port = Number(/^m=audio (\d+)/m.exec(answer.sdp)?.[1]);
  return {
    send: () => void peer.speak(port, new Int16Array(RATE_HZ)),
    hangUp: async () => {
      await call.hangUp();
      call.close();
      peer.close();
      socket.close();
    },
  };
}
