/** What was said so far, segment by segment, as the agent's messages tell it. */

/** One segment of the conversation. */
export interface TranscriptSegment {
  readonly segmentId: string;
  readonly role: 'user' | 'agent';
  readonly text: string;
  /** False while it may still change. */
  readonly final: boolean;
}

/** The conversation in the order its segments began. */
export class Transcript {
  readonly #segments = new Map<string, TranscriptSegment>();

  /**
   * Puts a segment in place of its earlier state and returns what was added to its text; one that is final
   * and empty (nothing of it was heard) goes.
   */
  put(segment: TranscriptSegment): string {
    const key = `${segment.role} ${segment.segmentId}`;
    const before = this.#segments.get(key)?.text ?? '';
    if (segment.final && segment.text === '') this.#segments.delete(key);
    else this.#segments.set(key, segment);
    return segment.text.startsWith(before) ? segment.text.slice(before.length) : segment.text;
  }

  /** A copy, oldest first. */
  all(): readonly TranscriptSegment[] {
    return [...this.#segments.values()].filter(({ text }) => text !== '');
  }
}
