/**
 * What has been heard so far of the replies that agents are giving, by session, out of the live captions: all
 * that is known of a reply should its worker die.
 */
import { z } from 'zod';
import type { Clock } from '#base/clock.ts';
import type { HeardSoFar } from '../../platform/dispatch.ts';

/** A caption of what the agent says, among the live events. */
const agentCaption = z.object({
  type: z.literal('transcript'),
  role: z.literal('agent'),
  text: z.string(),
  final: z.boolean(),
});

/** The replies under way. */
export class SpeakingAgents {
  readonly #clock: Clock;
  readonly #speaking = new Map<string, HeardSoFar>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes a live event of a session. */
  follow(sessionId: string, event: Readonly<Record<string, unknown>>): void {
    const caption = agentCaption.safeParse(event);
    if (!caption.success) return;
    const { text, final } = caption.data;
    if (final || text === '') this.#speaking.delete(sessionId);
    else
      this.#speaking.set(sessionId, {
        text,
        atMs: this.#speaking.get(sessionId)?.atMs ?? this.#clock.wallTime(),
      });
  }

  heardSoFar(sessionId: string): HeardSoFar | null {
    return this.#speaking.get(sessionId) ?? null;
  }

  /** The session is over. */
  forget(sessionId: string): void {
    this.#speaking.delete(sessionId);
  }
}
