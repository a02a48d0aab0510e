/** A mono Opus encoder (RFC 6716) with settings. */
// Not the native build: it crashed the whole process when a thread that had used it ended.
import { Encoder, type Rate } from '@evan/opus/wasm/index.mjs';

/** Requests of `opus_encoder_ctl` (opus_defines.h). */
const SET = { bitRate: 4002, complexity: 4010, inbandCorrection: 4012, expectedLoss: 4014 } as const;
/** The encoder chooses the bit rate. */
const OPUS_AUTO = -1000;

/** Settings of the encoder. */
export interface OpusSettings {
  /** Of the input samples, Hz. */
  readonly sampleRateHz: Rate['sample_rate'];
  readonly application: 'voip' | 'audio';
  /** bit/s; null: the encoder chooses. */
  readonly bitRate: number | null;
  /** 0 to 10. */
  readonly complexity?: number;
  /** Expected loss that in-band FEC protects against, per cent. */
  readonly expectedLoss?: number;
}

/** An encoder whose bit rate can change between two frames. */
export interface OpusEncoder extends Pick<Encoder, 'encode'> {
  setBitRate(bitRate: number): void;
}

/** Creates an encoder. Throws for a setting that libopus refuses. */
export function createOpusEncoder({
  sampleRateHz,
  application,
  bitRate,
  complexity,
  expectedLoss,
}: OpusSettings): OpusEncoder {
  const encoder = new Encoder({ channels: 1, sample_rate: sampleRateHz, application });
  encoder.ctl(SET.bitRate, bitRate ?? OPUS_AUTO);
  if (complexity !== undefined) encoder.ctl(SET.complexity, complexity);
  if (expectedLoss !== undefined) {
    encoder.ctl(SET.inbandCorrection, 1);
    encoder.ctl(SET.expectedLoss, expectedLoss);
  }
  return {
    encode: (samples) => encoder.encode(samples),
    setBitRate: (next) => encoder.ctl(SET.bitRate, next),
  };
}
