/**
 * Decodes any recording to mono 16-bit samples at the recognisers' rate. WAV is decoded here; MP3, FLAC, Ogg
 * (Opus, Vorbis) and WebM by libav compiled to WebAssembly, in a separate thread (`decoders.ts`). Audio is
 * converted as it is decoded: an hour of stereo is never in memory at once.
 */
import libav, { type Frame, type Instance } from '@libav.js/variant-obsolete';
import { RateConverter } from '../../dsp/pcm.ts';
import { type DecodedBlock, decodeWav, isWav } from './decode-wav.ts';
import { DECODED_RATE_HZ } from './decoders.ts';
import { audioTooLong, SpeechJobError } from './speech-jobs.ts';

/** Bytes of packets read at once. */
const BATCH_BYTES = 64 * 1_024;
/**
 * Packets decoded at once: a FLAC packet of twenty bytes may hold 65,535 silent samples of eight channels.
 */
const MAX_PACKETS = 16;
/** Approximate number of samples decoded at once. */
const BATCH_SAMPLES = 48_000;
/** Plausible audio. */
const MIN_RATE_HZ = 4_000;
const MAX_RATE_HZ = 384_000;
const MAX_CHANNELS = 32;
const QUIET = -8;

/**
 * Decodes a whole file, calling `onBlock` as it goes. Throws `SpeechJobError` if it is not audio, unreadable
 * or too long.
 */
export async function decodeAudio(
  file: Uint8Array,
  { longestSeconds, onBlock }: { longestSeconds: number; onBlock: () => void },
): Promise<Int16Array<ArrayBuffer>> {
  const collector = new Collector(longestSeconds * DECODED_RATE_HZ);
  const foreign = foreignFormat(file);
  if (foreign !== null)
    throw new SpeechJobError('audio_unsupported', `${foreign} is not supported: ${READABLE}`);
  const blocks = isWav(file) ? decodeWav(file, longestSeconds) : readWithLibav(file);
  for await (const block of blocks) {
    collector.take(block);
    onBlock();
  }
  return collector.samples();
}

const READABLE = 'send WAV, MP3, FLAC, Ogg (Opus or Vorbis) or WebM';

/** Signatures of audio formats not decoded here, with their offsets. */
const FOREIGN_FORMATS: readonly (readonly [at: number, magic: string, name: string])[] = [
  [4, 'ftyp', 'MP4 audio (M4A)'],
  [8, 'AIFF', 'AIFF'],
  [8, 'AIFC', 'AIFF'],
  [0, 'caff', 'Core Audio'],
  [0, '#!AMR', 'AMR'],
  [0, '.snd', 'AU'],
  [0, '\x30\x26\xb2\x75', 'Windows Media'],
  [0, '\xff\xf1', 'AAC'],
  [0, '\xff\xf9', 'AAC'],
];

function foreignFormat(file: Uint8Array): string | null {
  const head = Buffer.from(file.subarray(0, 16)).toString('latin1');
  return FOREIGN_FORMATS.find(([at, magic]) => head.startsWith(magic, at))?.[2] ?? null;
}

let loading: Promise<Instance> | null = null;
let nextFile = 0;

async function* readWithLibav(file: Uint8Array): AsyncGenerator<DecodedBlock> {
  loading ??= libav.LibAV({ noworker: true, nothreads: true }).then(async (library) => {
    await library.av_log_set_level(QUIET);
    return library;
  });
  const library = await loading;
  const name = `recording-${nextFile++}`;
  await library.writeFile(name, file);
  try {
    yield* readFile(library, name);
  } finally {
    await library.unlink(name);
  }
}

async function* readFile(library: Instance, name: string): AsyncGenerator<DecodedBlock> {
  const [container, streams] = await library.ff_init_demuxer_file(name).catch(() => {
    throw new SpeechJobError('audio_unreadable', `The file is not in a supported audio format: ${READABLE}`);
  });
  try {
    const stream = streams.find(({ codec_type }) => codec_type === library.AVMEDIA_TYPE_AUDIO);
    if (!stream) throw new SpeechJobError('audio_unreadable', 'The file contains no audio');
    const config = {
      codecpar: stream.codecpar,
      time_base: [stream.time_base_num, stream.time_base_den] as [number, number],
    };
    const [, codec, packet, frame] = await library.ff_init_decoder(stream.codec_id, config).catch(() => {
      throw new SpeechJobError(
        'audio_unsupported',
        'The audio codec is not supported: send WAV, MP3, FLAC, Opus or Vorbis',
      );
    });
    try {
      const decode = (packets: unknown[], isOver: boolean) =>
        library.ff_decode_multi(codec, packet, frame, packets, isOver);
      yield* decodePackets(decode, readPackets(library, { container, packet, stream: stream.index }));
    } catch (error) {
      if (error instanceof SpeechJobError) throw error;
      throw new SpeechJobError(
        'audio_unreadable',
        `The audio is damaged: ${error instanceof Error ? error.message : 'it cannot be decoded'}`,
      );
    } finally {
      await library.ff_free_decoder(codec, packet, frame);
    }
  } finally {
    await library.avformat_close_input_js(container);
  }
}

async function* readPackets(
  library: Instance,
  {
    container,
    packet,
    stream,
  }: { readonly container: number; readonly packet: number; readonly stream: number },
): AsyncGenerator<readonly unknown[]> {
  for (;;) {
    const [status, packets] = await library.ff_read_frame_multi(container, packet, { limit: BATCH_BYTES });
    const read = packets[stream] ?? [];
    yield read;
    if (status === library.AVERROR_EOF || (status !== 0 && read.length === 0)) return;
  }
}

/**
 * Decodes as many packets at once as make up one batch of samples; the first packet shows how much a packet
 * holds.
 */
async function* decodePackets(
  decode: (packets: unknown[], isOver: boolean) => Promise<Frame[]>,
  batches: AsyncIterable<readonly unknown[]>,
): AsyncGenerator<DecodedBlock> {
  let together = 1;
  for await (const packets of batches) {
    for (let at = 0; at < packets.length; ) {
      const some = packets.slice(at, at + together);
      const frames = await decode(some, false);
      yield* frames.map(toBlock);
      const samples = frames.reduce((sum, { nb_samples }) => sum + nb_samples, 0);
      if (samples > 0)
        together = Math.max(1, Math.min(MAX_PACKETS, Math.floor((BATCH_SAMPLES * some.length) / samples)));
      at += some.length;
    }
  }
  yield* (await decode([], true)).map(toBlock);
}

/** Full scale of libav's sample formats: u8, s16, s32, flt, dbl, and from 5 the same as planar formats. */
const FULL_SCALES = [128, 32_768, 2_147_483_648, 1, 1];

function toBlock(decoded: Frame): DecodedBlock {
  const { data, format, nb_samples: frames, sample_rate: rateHz, channels } = decoded;
  const scale = FULL_SCALES[format % FULL_SCALES.length];
  if (scale === undefined || !rateHz || !channels)
    throw new SpeechJobError('audio_unreadable', 'The audio has no sample rate or no channel count');
  if (rateHz < MIN_RATE_HZ || rateHz > MAX_RATE_HZ || channels > MAX_CHANNELS)
    throw new SpeechJobError(
      'audio_unreadable',
      'The audio is damaged: its rate or its channels are out of range',
    );
  const bias = format % FULL_SCALES.length === 0 ? 128 : 0;
  const isPlanar = format >= FULL_SCALES.length;
  const read = isPlanar
    ? (channel: number, frame: number) => (data as readonly ArrayLike<number>[])[channel]?.[frame] ?? bias
    : (channel: number, frame: number) => (data as ArrayLike<number>)[frame * channels + channel] ?? bias;
  const at = (frame: number) => {
    let sum = 0;
    for (let channel = 0; channel < channels; channel++) sum += read(channel, frame) - bias;
    return sum / (channels * scale);
  };
  return { rateHz, frames, at };
}

/** Collects blocks at the recognisers' rate, up to a limit. */
class Collector {
  readonly #most: number;
  readonly #parts: Int16Array[] = [];
  readonly #converter = new RateConverter(DECODED_RATE_HZ);
  #length = 0;

  constructor(most: number) {
    this.#most = most;
  }

  take({ rateHz, frames, at }: DecodedBlock): void {
    const mono = new Int16Array(frames);
    for (let frame = 0; frame < frames; frame++)
      mono[frame] = Math.max(-32_768, Math.min(32_767, Math.round(at(frame) * 32_768)));
    const part = this.#converter.convert(mono, rateHz);
    this.#length += part.length;
    if (this.#length > this.#most) throw audioTooLong(this.#most / DECODED_RATE_HZ);
    this.#parts.push(part);
  }

  samples(): Int16Array<ArrayBuffer> {
    const all = new Int16Array(this.#length);
    let at = 0;
    for (const part of this.#parts) {
      all.set(part, at);
      at += part.length;
    }
    return all;
  }
}
