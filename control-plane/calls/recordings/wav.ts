/**
 * One recorded track as a WAV file: computes the position of each segment and reads any byte range without
 * loading the whole file.
 */
import { HEADER_BYTES, wavHeader } from '#media/speech/audio/wav.ts';
import type { Segment } from './stored-pieces.ts';

const BYTES_PER_SAMPLE = 2;
/**
 * Start times are rounded and drift slightly, so only a larger difference between two segments counts as a
 * gap. This also bounds a track's deviation from the call's clock.
 */
const JOIN_MS = 20;

/** A segment and its start sample in the track. */
interface PlacedSegment {
  readonly segment: Segment;
  readonly startSample: number;
  /** At the sample rate of the track. */
  readonly samples: number;
}

/** Positions of a track's segments in time. */
export interface TrackLayout {
  readonly rateHz: number;
  /** Wall time of the first sample, ms. */
  readonly startMs: number;
  readonly samples: number;
  readonly segments: readonly PlacedSegment[];
}

/**
 * Positions a track's segments by their start times, with silence in the gaps; null when there are none.
 * `beginMs` is the start of the track (wall time, ms) if its first segments are lost.
 */
export function layOutTrack(
  segments: readonly Segment[],
  beginMs = Number.POSITIVE_INFINITY,
): TrackLayout | null {
  const first = segments[0];
  if (!first) return null;
  const { rateHz } = first;
  const startMs = Math.min(first.startMs, beginMs);
  const placed: PlacedSegment[] = [];
  let end = 0;
  for (const segment of segments) {
    const due = Math.round(((segment.startMs - startMs) * rateHz) / 1000);
    const startSample = due - end > (JOIN_MS * rateHz) / 1000 ? due : end;
    const samples = Math.round((segment.samples * rateHz) / segment.rateHz);
    placed.push({ segment, startSample, samples });
    end = startSample + samples;
  }
  return { rateHz, startMs, samples: end, segments: placed };
}

/** Unrecorded stretches of a track, in ms from its start. */
export function gapsOf({
  rateHz,
  segments,
}: TrackLayout): { readonly startMs: number; readonly durationMs: number }[] {
  const toMs = (samples: number) => Math.round((samples * 1000) / rateHz);
  return segments.flatMap(({ startSample }, index) => {
    const before = segments[index - 1];
    const end = before ? before.startSample + before.samples : 0;
    return startSample > end ? [{ startMs: toMs(end), durationMs: toMs(startSample - end) }] : [];
  });
}

/** Size of a track's WAV file in bytes. */
export function wavBytes(layout: TrackLayout): number {
  return HEADER_BYTES + layout.samples * BYTES_PER_SAMPLE;
}

/**
 * Yields the bytes `from` to `to` (exclusive) of a track's WAV file; `read` returns a segment's samples, or
 * null for silence.
 */
export async function* readWav(
  layout: TrackLayout,
  range: { readonly from: number; readonly to: number },
  read: (segment: Segment) => Promise<Buffer | null>,
): AsyncGenerator<Buffer> {
  let at = range.from;
  if (at < HEADER_BYTES) {
    yield wavHeader(layout.rateHz, layout.samples * BYTES_PER_SAMPLE).subarray(
      at,
      Math.min(HEADER_BYTES, range.to),
    );
    at = HEADER_BYTES;
  }
  for (const placed of layout.segments) {
    const start = HEADER_BYTES + placed.startSample * BYTES_PER_SAMPLE;
    const end = start + placed.samples * BYTES_PER_SAMPLE;
    if (end <= at) continue;
    if (start >= range.to) break;
    if (start > at) yield* silence(start - at);
    at = Math.max(at, start);
    const stop = Math.min(end, range.to);
    const pcm = atRate(
      (await read(placed.segment)) ?? Buffer.alloc(placed.segment.samples * BYTES_PER_SAMPLE),
      placed,
    );
    yield pcm.subarray(at - start, stop - start);
    at = stop;
  }
  if (at < range.to) yield* silence(range.to - at);
}

/** A replaced leg may have had another sample rate; linear interpolation is good enough for listening. */
function atRate(pcm: Buffer, placed: PlacedSegment): Buffer {
  if (placed.samples * BYTES_PER_SAMPLE === pcm.length) return pcm;
  const source = placed.segment.samples;
  const out = Buffer.alloc(placed.samples * BYTES_PER_SAMPLE);
  const sampleAt = (index: number) =>
    index * BYTES_PER_SAMPLE + 1 < pcm.length ? pcm.readInt16LE(index * BYTES_PER_SAMPLE) : 0;
  for (let index = 0; index < placed.samples; index++) {
    const position = (index * source) / placed.samples;
    const whole = Math.floor(position);
    const here = sampleAt(whole);
    out.writeInt16LE(
      Math.round(here + (sampleAt(Math.min(whole + 1, source - 1)) - here) * (position - whole)),
      index * BYTES_PER_SAMPLE,
    );
  }
  return out;
}

function* silence(bytes: number): Generator<Buffer> {
  const block = Buffer.alloc(Math.min(bytes, 64 * 1024));
  for (let left = bytes; left > 0; left -= block.length)
    yield left >= block.length ? block : block.subarray(0, left);
}
