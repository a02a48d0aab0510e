/** The texts of one language. */

/** All texts, by their names in `text-contents`. `{name}` is replaced with the agent's name. */
export interface Texts {
  readonly open: string;
  readonly start: string;
  readonly again: string;
  readonly type: string;
  readonly end: string;
  readonly cancel: string;
  readonly mute: string;
  readonly minimise: string;
  readonly dismiss: string;
  readonly send: string;
  readonly message: string;
  readonly transcript: string;
  readonly you: string;
  readonly agent: string;
  readonly ready: string;
  readonly connecting: string;
  readonly reconnecting: string;
  readonly listening: string;
  readonly thinking: string;
  readonly speaking: string;
  readonly ended: string;
  readonly consent: string;
  readonly accept: string;
  readonly terms: string;
  readonly privacy: string;
  readonly microphoneBlocked: string;
  readonly microphoneMissing: string;
  readonly connectionLost: string;
  readonly unreachable: string;
  readonly notAllowed: string;
  readonly unavailable: string;
  readonly tooMany: string;
  readonly expired: string;
  readonly otherRunning: string;
  readonly failed: string;
}
