/** A plain RTP far end for tests: a UDP socket that speaks in real time and keeps what it hears. */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { systemClock, type Timer } from '#config/clock.ts';
import { decodeG711, encodeG711 } from '#media/codecs.ts';
import type { RtpRemote } from '#media/leg.ts';
import { parseRtp, RTP_HEADER_BYTES, type RtpPacket, writeRtpHeader } from '#media/rtp/packet.ts';

const FRAME_SAMPLES = 160;

/** A packet heard, its payload copied. */
export interface HeardPacket extends RtpPacket {
  readonly atMs: number;
  /** Largest absolute sample of an audio packet. */
  readonly peak: number;
}

/** Opens a peer on the loopback. */
export async function openRtpPeer(): Promise<RtpPeer> {
  const socket = createSocket('udp4');
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return new RtpPeer(socket);
}

export class RtpPeer {
  readonly heard: HeardPacket[] = [];
  readonly port: number;
  readonly #socket: Socket;
  #sequence = 0;
  #timestamp = 0;
  #timer: Timer | null = null;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.port = socket.address().port;
    socket.on('message', (datagram) => {
      const packet = parseRtp(new Uint8Array(datagram));
      if (!packet) return;
      const samples = new Int16Array(packet.payload.length);
      if (packet.payloadType === 0) decodeG711('PCMU', packet.payload, samples);
      const peak = samples.reduce((largest, sample) => Math.max(largest, Math.abs(sample)), 0);
      this.heard.push({ ...packet, atMs: systemClock.now(), peak });
    });
  }

  /** How an RTP leg reaches this peer. */
  get remote(): RtpRemote {
    return { address: '127.0.0.1', port: this.port, codec: 'PCMU', payloadType: 0, digitPayloadType: 101, sending: true };
  }

  /** Sends one packet at once. */
  send(port: number, payloadType: number, payload: Uint8Array, header: { marker?: boolean; timestamp?: number } = {}): void {
    const packet = new Uint8Array(RTP_HEADER_BYTES + payload.length);
    writeRtpHeader(packet, {
      marker: header.marker ?? false,
      payloadType,
      sequence: this.#sequence++,
      timestamp: header.timestamp ?? this.#timestamp,
      ssrc: this.port,
    });
    packet.set(payload, RTP_HEADER_BYTES);
    this.#socket.send(packet, port, '127.0.0.1');
  }

  /** Speaks in real time, one packet per 20 ms, silence where `samples` ends; resolves with the time of the first packet once all is said. */
  speak(port: number, samples: Int16Array): Promise<number> {
    this.#timer?.cancel();
    return new Promise((resolve) => {
      const startMs = systemClock.now();
      let frame = 0;
      const payload = new Uint8Array(FRAME_SAMPLES);
      const turn = () => {
        for (; startMs + frame * 20 <= systemClock.now(); frame++) {
          const voice = new Int16Array(FRAME_SAMPLES);
          voice.set(samples.subarray(frame * FRAME_SAMPLES, (frame + 1) * FRAME_SAMPLES));
          encodeG711('PCMU', voice, payload, 0);
          this.send(port, 0, payload);
          this.#timestamp += FRAME_SAMPLES;
          if ((frame + 1) * FRAME_SAMPLES >= samples.length) resolve(startMs);
        }
        this.#timer = systemClock.after(5, turn);
      };
      turn();
    });
  }

  /** Stops sending. */
  stop(): void {
    this.#timer?.cancel();
  }

  /** Stops sending and closes the socket. */
  close(): void {
    this.stop();
    this.#socket.close();
  }
}
