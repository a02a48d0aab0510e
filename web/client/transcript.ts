/** The transcript so far, by segment, built from the agent's messages. */

/** One segment of the conversation. */
export interface TranscriptSegment {
  readonly segmentId: string;
  readonly role: 'user' | 'agent';
  readonly text: string;
  /** False while it may still change. */
  readonly final: boolean;
}

/** The conversation, in the order in which its segments began. */
export class Transcript {
  readonly #segments = new Map<string, TranscriptSegment>();

  /**
   * Replaces a segment's earlier state and returns the text added. Removes a segment that is final and empty,
   * because nothing of it was heard.
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
