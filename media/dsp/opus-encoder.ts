/** A mono Opus encoder (RFC 6716) with its settings. */
// Not the native build: it crashed the whole process when the thread that had used it ended.
import { Encoder, type Rate } from '@evan/opus/wasm/index.mjs';

/** Requests of `opus_encoder_ctl` (opus_defines.h). */
const SET = { bitRate: 4002, complexity: 4010, inbandCorrection: 4012, expectedLoss: 4014 } as const;
/** Leaves the bit rate to the encoder. */
const OPUS_AUTO = -1000;

/** How it encodes. */
export interface OpusSettings {
  /** Of the samples it is given, Hz. */
  readonly sampleRateHz: Rate['sample_rate'];
  readonly application: 'voip' | 'audio';
  /** bit/s; null leaves it to the encoder. */
  readonly bitRate: number | null;
  /** 0 to 10. */
  readonly complexity?: number;
  /** Loss that in-band correction prepares for, per cent. */
  readonly expectedLoss?: number;
}

/** Creates an encoder. Throws for a setting that libopus refuses. */
export function createOpusEncoder({
  sampleRateHz,
  application,
  bitRate,
  complexity,
  expectedLoss,
}: OpusSettings): Pick<Encoder, 'encode'> {
  const encoder = new Encoder({ channels: 1, sample_rate: sampleRateHz, application });
  encoder.ctl(SET.bitRate, bitRate ?? OPUS_AUTO);
  if (complexity !== undefined) encoder.ctl(SET.complexity, complexity);
  if (expectedLoss !== undefined) {
    encoder.ctl(SET.inbandCorrection, 1);
    encoder.ctl(SET.expectedLoss, expectedLoss);
  }
  return encoder;
}
