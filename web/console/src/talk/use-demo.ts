/**
 * What this installation offers visitors: the demo agent, its phone number and the engines in use (`GET
 * /demo.json`).
 */
import { useEffect, useState } from 'react';

export interface Demo {
  agent_id: string;
  agent_name: string;
  sip_uri: string | null;
  /** False: the agent receives only keypad and typed input. */
  hears_speech: boolean;
  /** Length of the recogniser that the operator can download; null: there is none. */
  recogniser_bytes: number | null;
  engines: string[];
  phrases: string[];
}

const RETRY_MS = 2_000;

/**
 * The demo (null while loading) and the current error. Retries until the demo is loaded, because the server
 * may still be starting.
 */
export function useDemo(): { demo: Demo | null; problem: string | null } {
  const [demo, setDemo] = useState<Demo | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    const abort = new AbortController();
    let retry: ReturnType<typeof setTimeout> | undefined;
    const load = async () => {
      try {
        const response = await fetch('/demo.json', { signal: abort.signal });
        if (!response.ok) throw new Error(`The server answered ${response.status}`);
        setDemo((await response.json()) as Demo);
        setProblem(null);
      } catch (error) {
        if (abort.signal.aborted) return;
        // The message of a fetch error is meant for developers.
        setProblem(
          error instanceof Error && !(error instanceof TypeError)
            ? error.message
            : 'The server cannot be reached; trying again',
        );
        retry = setTimeout(load, RETRY_MS);
      }
    };
    void load();
    return () => {
      abort.abort();
      clearTimeout(retry);
    };
  }, []);
  return { demo, problem };
}
