/**
 * Caller and person talk with each other: their legs bridged, keys forwarded, the person recorded, until one
 * of them hangs up.
 */
import type { Leg, LegEvent } from '#media/leg/leg.ts';

/** Dependencies of a joined talk. */
export interface JoinedTalkDeps {
  readonly caller: Leg;
  readonly person: Leg;
  /** A segment of the person's audio. */
  readonly onRecording: (event: Extract<LegEvent, { type: 'recording' }>) => void;
  /** The person hung up; not called after the talk was stopped. */
  readonly onPersonLeft: () => void;
}

/** A talk in progress. */
export class JoinedTalk {
  readonly #deps: JoinedTalkDeps;
  readonly #closed = Promise.withResolvers<void>();
  #isStopped = false;

  constructor(deps: JoinedTalkDeps) {
    this.#deps = deps;
    const { caller, person } = deps;
    caller.send({ do: 'bridge', otherLegId: person.id });
    person.listen((events) => {
      for (const event of events) this.#onEvent(event);
    });
  }

  /** Forwards a key the caller pressed. */
  press(digit: string): void {
    this.#deps.person.send({ do: 'sendDigits', digits: digit });
  }

  /**
   * Hangs up on the person because the caller left or the call ends. Resolves when no more recording follows.
   */
  stop(): Promise<void> {
    this.#isStopped = true;
    this.#deps.person.send({ do: 'close' });
    return this.#closed.promise;
  }

  /** Another worker has the talk: it goes on there. */
  abandon(): void {
    this.#isStopped = true;
    this.#deps.person.send({ do: 'close', keepsDialog: true });
  }

  #onEvent(event: LegEvent): void {
    const { caller, onPersonLeft, onRecording } = this.#deps;
    if (event.type === 'recording') onRecording(event);
    else if (event.type === 'digit') caller.send({ do: 'sendDigits', digits: event.digit });
    else if (event.type === 'closed') {
      this.#closed.resolve();
      if (!this.#isStopped) onPersonLeft();
    }
  }
}
