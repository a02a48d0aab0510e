/** An RTP peer for tests: a UDP socket that sends in real time and keeps what it receives. */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { systemClock, type Timer } from '#base/clock.ts';
import { decodeG711 } from '#media/dsp/g711.ts';
import type { RtpCodec, RtpRemote, SrtpKeys } from '#media/leg/rtp-remote.ts';
import { CodecStream, MAX_ENCODED_BYTES } from '#media/rtp/codec-stream.ts';
import { CODECS } from '#media/rtp/codec-table.ts';
import { parseRtp, RTP_HEADER_BYTES, type RtpPacket, unwrap, writeRtpHeader } from '#media/rtp/packet.ts';
import { isRtcp } from '#media/rtp/rtcp.ts';
import { SRTP_GROWTH_BYTES, SrtpReceiver, SrtpSender } from '#media/rtp/srtp.ts';

const DIGIT_PAYLOAD_TYPE = 101;
/** For Opus, which has no static payload type. */
const DYNAMIC_PAYLOAD_TYPE = 111;
const PACKET_MS = 20;
const PHONE_RATE_HZ = 8_000;

/** A received packet with a copy of its payload. */
export interface HeardPacket extends RtpPacket {
  readonly atMs: number;
  /** Largest absolute sample of an audio packet. */
  readonly peak: number;
}

/** Opens a peer on the loopback that sends and decodes this codec. */
export async function openRtpPeer(codec: RtpCodec = 'PCMU'): Promise<RtpPeer> {
  const socket = createSocket('udp4');
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return new RtpPeer(socket, codec);
}

export class RtpPeer {
  readonly heard: HeardPacket[] = [];
  /** RTCP that arrived beside the media. */
  readonly reports: Buffer[] = [];
  readonly port: number;
  /** Sample rate of its audio, Hz. */
  readonly rateHz: number;
  /** Address of the other end. */
  farAddress = '127.0.0.1';
  readonly #socket: Socket;
  readonly #codec: RtpCodec;
  readonly #encoder: CodecStream;
  #sequence = 0;
  #timestamp = 0;
  #timer: Timer | null = null;
  /** Null while its streams are plain. */
  #srtp: { readonly sender: SrtpSender; readonly receiver: SrtpReceiver } | null = null;

  constructor(socket: Socket, codec: RtpCodec) {
    this.#socket = socket;
    this.#codec = codec;
    this.rateHz = CODECS[codec].rateHz;
    this.#encoder = new CodecStream(codec, this.rateHz);
    this.port = socket.address().port;
    socket.on('message', (datagram) => {
      if (isRtcp(datagram)) this.reports.push(datagram);
      const packet = isRtcp(datagram) ? null : this.#opened(new Uint8Array(datagram));
      if (!packet) return;
      const samples = new Int16Array(packet.payload.length);
      if (packet.payloadType === 0) decodeG711('PCMU', packet.payload, samples);
      const peak = samples.reduce((largest, sample) => Math.max(largest, Math.abs(sample)), 0);
      this.heard.push({ ...packet, atMs: systemClock.now(), peak });
    });
  }

  /** Encrypts its streams from now on; hears nothing that does not open with the keys. */
  protect(keys: SrtpKeys): void {
    this.#srtp = { sender: new SrtpSender(keys.suite, keys.sendKey), receiver: new SrtpReceiver(keys) };
  }

  /** This peer's address as seen by an RTP leg. */
  get remote(): RtpRemote {
    const payloadType = CODECS[this.#codec].staticType ?? DYNAMIC_PAYLOAD_TYPE;
    return {
      address: '127.0.0.1',
      port: this.port,
      codec: this.#codec,
      payloadType,
      digitPayloadType: DIGIT_PAYLOAD_TYPE,
      sending: true,
    };
  }

  /**
   * Received audio at 8 kHz without a jitter buffer: each packet is placed by its timestamp and repeated at
   * half volume where the next one is missing. `heard` may omit packets.
   */
  audio(heard: readonly HeardPacket[] = this.heard): Int16Array {
    const decoder = new CodecStream(this.#codec, PHONE_RATE_HZ);
    const packets = new Map<number, HeardPacket>();
    let newest = heard[0]?.sequence ?? 0;
    for (const packet of heard) {
      const place = unwrap(newest, packet.sequence, 16);
      newest = Math.max(newest, place);
      if (packet.payloadType === this.remote.payloadType) packets.set(place, packet);
    }
    const inOrder = [...packets].sort(([one], [other]) => one - other).map(([, packet]) => packet);
    const first = inOrder[0]?.timestamp ?? 0;
    const placed = inOrder.map(({ timestamp, payload }) => ({
      at: Math.round((((timestamp - first) | 0) * PHONE_RATE_HZ) / CODECS[this.#codec].clockHz),
      samples: decoder.decode(payload).slice(),
    }));
    const samples = new Int16Array(
      placed.reduce((end, packet) => Math.max(end, packet.at + packet.samples.length), 0),
    );
    // Half-volume copies first; the packets after each gap overwrite them.
    for (const packet of placed)
      samples.set(
        packet.samples
          .map((sample) => sample / 2)
          .subarray(0, samples.length - packet.at - packet.samples.length),
        packet.at + packet.samples.length,
      );
    for (const packet of placed) samples.set(packet.samples, packet.at);
    return samples;
  }

  /** Sends one packet immediately. */
  send(
    port: number,
    payloadType: number,
    payload: Uint8Array,
    header: { marker?: boolean; timestamp?: number; sequence?: number } = {},
  ): void {
    const packet = new Uint8Array(RTP_HEADER_BYTES + payload.length + SRTP_GROWTH_BYTES);
    const length = RTP_HEADER_BYTES + payload.length;
    writeRtpHeader(packet, {
      marker: header.marker ?? false,
      payloadType,
      sequence: header.sequence ?? this.#sequence++,
      timestamp: header.timestamp ?? this.#timestamp,
      ssrc: this.port,
    });
    packet.set(payload, RTP_HEADER_BYTES);
    const end = this.#srtp?.sender.protect(packet, length) ?? length;
    this.#socket.send(packet.subarray(0, end), port, this.farAddress);
  }

  /**
   * Sends audio in real time, one packet per 20 ms, with silence after the end of `samples`. Once all audio
   * is sent, resolves with the time of the first packet. The other end's port may change meanwhile.
   */
  speak(port: number | (() => number), samples: Int16Array): Promise<number> {
    const portNow = typeof port === 'number' ? () => port : port;
    this.#timer?.cancel();
    return new Promise((resolve) => {
      const startMs = systemClock.now();
      const length = (this.rateHz * PACKET_MS) / 1_000;
      let frame = 0;
      const turn = () => {
        for (; startMs + frame * PACKET_MS <= systemClock.now(); frame++) {
          const voice = new Int16Array(length);
          voice.set(samples.subarray(frame * length, (frame + 1) * length));
          const payload = new Uint8Array(MAX_ENCODED_BYTES);
          this.send(
            portNow(),
            this.remote.payloadType,
            payload.subarray(0, this.#encoder.encode(voice, payload, 0)),
          );
          this.#timestamp += (CODECS[this.#codec].clockHz * PACKET_MS) / 1_000;
          if ((frame + 1) * length >= samples.length) resolve(startMs);
        }
        this.#timer = systemClock.after(5, turn);
      };
      turn();
    });
  }

  #opened(datagram: Uint8Array): RtpPacket | null {
    const plain = this.#srtp ? this.#srtp.receiver.open(datagram) : datagram;
    return plain && parseRtp(plain);
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
