/**
 * The voice vendor's `output_format` names and their native equivalents: bit rates and MP3 sample rates are
 * rounded up to the next supported one. Pure.
 */
import { fault } from '#config/errors.ts';

/** Native parameters of a format. */
export interface MappedFormat {
  readonly format: 'mp3' | 'pcm' | 'wav' | 'opus';
  readonly sample_rate: number;
  readonly mp3_bitrate?: number;
  readonly opus_bitrate?: number;
}

/** Default format. */
export const DEFAULT_FORMAT = 'mp3_44100_128';
const RAW_RATES = [8_000, 16_000, 24_000, 32_000, 44_100];

/** Parses a name such as `mp3_44100_128`. Throws `bad_request`. */
export function outputFormat(name: string): MappedFormat {
  const [, kind, rateText, bitRateText] = /^(mp3|pcm|wav|opus)_(\d{4,5})(?:_(\d{2,3}))?$/.exec(name) ?? [];
  const [rate, bitRate] = [Number(rateText), Number(bitRateText ?? 128)];
  if (kind === 'mp3' && [22_050, 24_000, 32_000, 44_100].includes(rate))
    return {
      format: kind,
      sample_rate: rate <= 32_000 ? 32_000 : 44_100,
      mp3_bitrate: roundUpToStep(bitRate, [64, 128, 192]),
    };
  if (kind === 'opus' && rate === 48_000)
    return {
      format: kind,
      sample_rate: rate,
      opus_bitrate: roundUpToStep(bitRate * 1_000, [24_000, 32_000, 48_000, 64_000]),
    };
  if ((kind === 'pcm' || kind === 'wav') && RAW_RATES.includes(rate))
    return { format: kind, sample_rate: rate };
  throw fault('bad_request', {
    detail:
      'output_format must be mp3_<22050|24000|32000|44100>_<kbit/s>, opus_48000_<kbit/s>, or pcm_<rate> ' +
      'or wav_<rate> of 8000, 16000, 24000, 32000 or 44100 Hz',
  });
}

/** The next larger step, or the last. */
function roundUpToStep(value: number, steps: readonly number[]): number {
  return steps.find((step) => step >= value) ?? steps.at(-1) ?? value;
}
