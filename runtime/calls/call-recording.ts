/**
 * A call's recording: segments handed on as they come, numbered over all legs of the call, and the report of
 * what there is.
 */
import type { Clock } from '#base/clock.ts';
import type { LegEvent, RecordingTrack } from '#media/leg/leg.ts';
import type { DurableReport } from '#protocol/worker-link.ts';

/** A few seconds, or the rest, of one recorded side. */
export interface RecordingSegment {
  readonly track: RecordingTrack;
  /** Counts from 0 per track over the whole call, also across a replaced leg. */
  readonly segment: number;
  /** Monotonic time of the first sample. */
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

/** Starts a recording; when it is not wanted, what comes is dropped. */
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
    // Each leg counts from 0, and one that was replaced still hands over its rest: they are numbered as they
    // come.
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
