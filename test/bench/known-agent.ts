/**
 * A far end with known delays: it answers `ringMs` after the INVITE, then sends a tone, goes silent `hushMs`
 * after the caller's `hushAfterPackets`-th voiced packet, and echoes every later voiced packet after
 * `echoMs`. It records the time of each action.
 */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { encodeBlock, ULAW_SILENCE } from '#caller/g711.ts';
import { isVoiced, PACKET_SAMPLES, parseRtp, writeRtp } from '#caller/rtp.ts';
import { header, parseSip, type SipMessage, writeSip } from '#caller/sip-message.ts';

export interface KnownAgentOptions {
  readonly ringMs: number;
  readonly hushAfterPackets: number;
  readonly hushMs: number;
  readonly echoMs: number;
}

/** Times on the agent's own clock, ms. */
export interface KnownTimes {
  invitedMs: number;
  answeredMs: number;
  firstToneMs: number;
  completingMs: number;
  lastToneMs: number;
}

const TONE = encodeBlock(
  Int16Array.from({ length: PACKET_SAMPLES }, (_, index) => Math.round(8_000 * Math.sin(index / 3))),
);
const SILENCE = Buffer.alloc(PACKET_SAMPLES, ULAW_SILENCE);

export async function startKnownAgent(options: KnownAgentOptions) {
  const sip = await bound();
  const media = await bound();
  const times: KnownTimes = { invitedMs: 0, answeredMs: 0, firstToneMs: 0, completingMs: 0, lastToneMs: 0 };
  const timers = new Set<NodeJS.Timeout>();
  const methods: string[] = [];
  const later = (ms: number, work: () => void) => timers.add(setTimeout(work, ms));
  let remote: { port: number; address: string } | null = null;
  let isHushed = false;
  let voicedHeard = 0;
  let sequence = 0;

  const send = (payload: Buffer) => {
    const packet = {
      payloadType: 0,
      marker: false,
      sequence,
      timestamp: sequence * PACKET_SAMPLES,
      ssrc: 7,
      payload,
    };
    sequence = (sequence + 1) % 0x1_0000;
    if (remote) media.send(writeRtp(packet), remote.port, remote.address);
  };

  const answer = (invite: SipMessage, from: { port: number; address: string }) => {
    remote = { address: '127.0.0.1', port: Number(/m=audio (\d+)/.exec(invite.body)?.[1]) };
    reply(sip, invite, from, { status: '180 Ringing' });
    later(options.ringMs, () => {
      const sdp =
        'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio ' +
        `${media.address().port} RTP/AVP 0 101\r\na=rtpmap:101 telephone-event/8000\r\n`;
      times.answeredMs = performance.now();
      reply(sip, invite, from, { status: '200 OK', sdp });
      timers.add(
        setInterval(() => {
          if (isHushed) return;
          const now = performance.now();
          times.firstToneMs ||= now;
          times.lastToneMs = now;
          send(TONE);
        }, 20),
      );
    });
  };

  sip.on('message', (datagram, from) => {
    const message = parseSip(datagram);
    if (!message || message.status !== null) return;
    methods.push(message.method);
    if (message.method === 'INVITE' && times.invitedMs === 0) {
      times.invitedMs = performance.now();
      answer(message, from);
    } else if (message.method === 'BYE') reply(sip, message, from, { status: '200 OK' });
  });

  const digits: { event: number; end: boolean }[] = [];
  media.on('message', (datagram) => {
    const packet = parseRtp(datagram);
    if (packet?.payloadType === 101)
      digits.push({ event: packet.payload.readUInt8(0), end: packet.payload.readUInt8(1) >= 0x80 });
    if (packet?.payloadType !== 0) return;
    const isSpeech = isVoiced(packet.payload);
    if (isHushed) later(options.echoMs, () => send(isSpeech ? Buffer.from(packet.payload) : SILENCE));
    if (!isSpeech || ++voicedHeard !== options.hushAfterPackets) return;
    times.completingMs = performance.now();
    later(options.hushMs, () => {
      isHushed = true;
    });
  });

  return {
    target: `sip:agent@127.0.0.1:${sip.address().port}`,
    times,
    methods,
    digits,
    close() {
      for (const timer of timers) clearTimeout(timer);
      sip.close();
      media.close();
    },
  };
}

function reply(
  socket: Socket,
  request: SipMessage,
  from: { port: number; address: string },
  { status, sdp = '' }: { status: string; sdp?: string },
) {
  const to = header(request, 'to');
  const headers = [
    ...['via', 'from', 'call-id', 'cseq'].map((name) => [name, header(request, name)] as const),
    ['To', to.includes('tag=') ? to : `${to};tag=agent`] as const,
    ['Contact', `<sip:agent@127.0.0.1:${socket.address().port}>`] as const,
    ...(sdp ? [['Content-Type', 'application/sdp'] as const] : []),
  ];
  socket.send(writeSip(`SIP/2.0 ${status}`, headers, sdp), from.port, from.address);
}

async function bound(): Promise<Socket> {
  const socket = createSocket('udp4');
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return socket;
}
