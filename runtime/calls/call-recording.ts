/**
 * A call's recording: segments forwarded as they arrive and numbered across all legs, and the report of what
 * exists.
 */
import type { Clock } from '#base/clock.ts';
import type { LegEvent, RecordingTrack } from '#media/leg/leg.ts';
import type { DurableReport } from '#protocol/worker-link.ts';

/** A few seconds of one recorded side, or its remainder. */
export interface RecordingSegment {
  readonly track: RecordingTrack;
  /** Counts from 0 per track for the whole call, across replaced legs. */
  readonly segment: number;
  /** Monotonic time of the first sample, in ms. */
  readonly startMs: number;
  readonly rateHz: number;
  readonly samples: Int16Array;
}

/** The recording of one call. */
export interface CallRecording {
  add(event: Extract<LegEvent, { type: 'recording' }>): void;
  /** Null when nothing was recorded. */
  report(): Extract<DurableReport, { type: 'recording' }> | null;
}

interface Track {
  segments: number;
  rateHz: number;
  startMs: number;
  endMs: number;
}

/** Starts a recording; segments are dropped when recording is off. */
export function createCallRecording(options: {
  isWanted: boolean;
  clock: Clock;
  save: (segment: RecordingSegment) => void;
}): CallRecording {
  const { clock, isWanted, save } = options;
  const tracks = new Map<RecordingTrack, Track>();
  const isoTime = (monotonicMs: number) =>
    new Date(clock.wallTime() - (clock.now() - monotonicMs)).toISOString();

  return {
    // Each leg numbers its segments from 0, and a replaced leg still delivers its last ones, so they are
    // renumbered on arrival.
    add({ track: side, startMs, rateHz, samples }) {
      if (!isWanted) return;
      const track = tracks.get(side) ?? { segments: 0, rateHz, startMs, endMs: startMs };
      const endMs = Math.max(track.endMs, startMs + (samples.length * 1_000) / rateHz);
      tracks.set(side, { ...track, segments: track.segments + 1, endMs });
      save({ track: side, segment: track.segments, startMs, rateHz, samples });
    },
    report() {
      if (tracks.size === 0) return null;
      const list = [...tracks].map(([role, { segments, rateHz, startMs, endMs }]) => ({
        role,
        segments,
        rate_hz: rateHz,
        started_at: isoTime(startMs),
        duration_ms: endMs - startMs,
      }));
      return { type: 'recording', tracks: list };
    },
  };
}
