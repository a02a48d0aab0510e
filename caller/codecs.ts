/**
 * Codecs of a phone caller. Its audio has 8 kHz in all of them. G.711 is its own; the others are those of the
 * product, whose tests compare them with other implementations.
 */
import { CodecStream, MAX_ENCODED_BYTES } from '#media/rtp/codec-stream.ts';
import { CODECS as FACTS } from '#media/rtp/codec-table.ts';
import type { CallerCodec } from '#protocol/caller-steps.ts';
import { decodeAlaw, encodeAlaw, encodeBlock } from './g711.ts';
import { PACKET_MS, samplesOf } from './rtp.ts';
import { CALLER_RATE_HZ } from './scene.ts';

/** A codec as the caller offers it. */
export interface Codec {
  readonly name: CallerCodec;
  /** As in `a=rtpmap` (RFC 8866 §6.6). */
  readonly encoding: string;
  readonly payloadType: number;
  /** Rate of RTP timestamps, Hz. */
  readonly clockHz: number;
}

/** Coding of one call, both directions. */
export interface Coding {
  /** One packet of 8 kHz audio. */
  encode(frame: Int16Array): Buffer;
  /** Samples at 8 kHz; valid until the next call. */
  decode(payload: Uint8Array): Int16Array;
}

const NAMES = { pcmu: 'PCMU', pcma: 'PCMA', g722: 'G722', opus: 'opus' } as const;
/** For codecs without a static payload type. */
const DYNAMIC_TYPE = 111;

/** All of them. */
export const CODECS: Readonly<Record<CallerCodec, Codec>> = {
  pcmu: codec('pcmu'),
  pcma: codec('pcma'),
  g722: codec('g722'),
  opus: codec('opus'),
};

/** RTP timestamps in one packet. */
export function ticksOf({ clockHz }: Codec): number {
  return (clockHz * PACKET_MS) / 1_000;
}

/** Starts the coding of one call. */
export function openCoding({ name }: Codec): Coding {
  if (name === 'pcmu') return { encode: encodeBlock, decode: samplesOf };
  if (name === 'pcma')
    return {
      encode: (frame) => Buffer.from(Uint8Array.from(frame, encodeAlaw)),
      decode: (payload) => Int16Array.from(payload, decodeAlaw),
    };
  const stream = new CodecStream(NAMES[name], CALLER_RATE_HZ);
  return {
    encode(frame) {
      const bytes = Buffer.alloc(MAX_ENCODED_BYTES);
      return bytes.subarray(0, stream.encode(frame, bytes, 0));
    },
    decode: (payload) => stream.decode(payload),
  };
}

function codec(name: CallerCodec): Codec {
  const { encoding, clockHz, staticType } = FACTS[NAMES[name]];
  return { name, encoding, clockHz, payloadType: staticType ?? DYNAMIC_TYPE };
}
