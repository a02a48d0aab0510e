/** The frames that audio travels in: 20 ms each, one per slot of the call's clock. */

/** Length of one frame and of one slot of the call's clock, ms. */
export const FRAME_MS = 20;

/**
 * Origin of a slot's frame: received, concealment of a lost packet, silence that the sender announced
 * (DTX, comfort noise), or nothing.
 */
export type FrameKind = 'audio' | 'concealed' | 'silent' | 'absent';

/** `FrameKind` as sent between threads: the index in this list. */
export const FRAME_KINDS = ['audio', 'concealed', 'silent', 'absent'] as const satisfies readonly FrameKind[];

/** Samples per frame at this rate. */
export function frameSamples(rateHz: number): number {
  return (rateHz * FRAME_MS) / 1000;
}
