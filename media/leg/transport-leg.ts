/** A leg as the media thread holds it; each transport implements it. */
import type { LegCommand } from './leg.ts';

/** A transport, as the media thread drives it. */
export interface TransportLeg {
  command(command: LegCommand): void;
  /** An internal error of this leg: closes it as `failed`; other legs continue. */
  fail(error: unknown): void;
  /** Closes the leg; resolves after `closed`, its last event. Idempotent. */
  close(): Promise<void>;
}

/** Facts about an opened leg. */
export interface OpenedLeg {
  readonly inRateHz: number;
  readonly outRateHz: number;
  readonly originMs: number;
  /** Bound RTP port; null for other legs. */
  readonly localPort: number | null;
  /** SDP answer of a WebRTC leg; null for other legs. */
  readonly answerSdp: string | null;
}
