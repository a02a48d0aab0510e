/** A `fetch` that answers as a test says, and remembers what was asked. */

/** A request as it was sent. */
export interface SentRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Headers;
  readonly body: unknown;
}

/** The `fetch`, and the requests so far. */
export interface ScriptedFetch {
  readonly sent: SentRequest[];
  fetch(url: string, init: RequestInit): Promise<Response>;
}

/** An answer; `lost` never arrives, `silent` neither, and the connection stays open. */
export type ScriptedAnswer = Response | 'lost' | 'silent';

/** Answers in this order. */
export function scriptedFetch(...answers: ScriptedAnswer[]): ScriptedFetch {
  const sent: SentRequest[] = [];
  return {
    sent,
    async fetch(url, init) {
      const answer = answers[sent.length];
      sent.push({ url, method: init.method ?? '', headers: new Headers(init.headers), body: init.body });
      if (answer === undefined) throw new Error(`request ${sent.length} was not expected`);
      if (answer === 'lost')
        throw new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') });
      if (answer === 'silent') return unanswered(init.signal);
      return answer;
    },
  };
}

/** An error as the API sends it. */
export function refusal(status: number, reason: string | null = null, headers: Record<string, string> = {}) {
  return Response.json({ status, message: 'no', reason }, { status, headers });
}

function unanswered(signal: AbortSignal | null | undefined): Promise<Response> {
  return new Promise((_resolve, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason));
  });
}
