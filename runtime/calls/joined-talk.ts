/**
 * Caller and person talk with each other: their legs bridged, keys passed on, the person on record, until one
 * of the two hangs up.
 */
import type { Leg, LegEvent } from '#media/leg/leg.ts';

/** What a talk is made of. */
export interface JoinedTalkDeps {
  readonly caller: Leg;
  readonly person: Leg;
  /** A stretch of what the person says. */
  readonly onRecording: (event: Extract<LegEvent, { type: 'recording' }>) => void;
  /** The person has left; not told once the talk was stopped. */
  readonly onPersonLeft: () => void;
}

/** A talk under way. */
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

  /** Hands on a key the caller pressed. */
  press(digit: string): void {
    this.#deps.person.send({ do: 'sendDigits', digits: digit });
  }

  /** The caller is gone, or the call ends: the person is hung up on. Resolves when no recording follows. */
  stop(): Promise<void> {
    this.#isStopped = true;
    this.#deps.person.send({ do: 'close' });
    return this.#closed.promise;
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
