/** The live event stream (`GET /v1/agent/events`); reconnects whenever the stream ends. */
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { isKeyRefusal, request } from './client.ts';
import { eventsOf } from './event-stream.ts';
import type { SessionList } from './types.ts';

/** A row of the session list. */
export type SessionRow = SessionList['sessions'][number];

const RETRY_MS = 3_000;

/**
 * Refreshes lists, details and figures of calls while the console is open. Returns true while the stream is
 * connected.
 */
export function useLiveEvents(): boolean {
  const client = useQueryClient();
  const [isLive, setIsLive] = useState(false);
  useEffect(() => {
    const abort = new AbortController();
    const onSession = (row: SessionRow) => {
      void client.invalidateQueries({ queryKey: ['/v1/agent/sessions'] });
      void client.invalidateQueries({ queryKey: [`/v1/agent/sessions/${row.session_id}`] });
    };
    const run = async () => {
      while (!abort.signal.aborted) {
        try {
          await readStream(abort.signal, { onReady: () => setIsLive(true), onSession });
        } catch (error) {
          // The next attempt shows whether the server is back. For a rejected key, reloading the account
          // shows the error.
          if (isKeyRefusal(error)) void client.invalidateQueries({ queryKey: ['/v1/account'] });
        }
        setIsLive(false);
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    };
    void run();
    return () => abort.abort();
  }, [client]);
  return isLive;
}

async function readStream(
  signal: AbortSignal,
  told: { onReady(): void; onSession(row: SessionRow): void },
): Promise<void> {
  for await (const { name, data } of eventsOf(
    await request('GET', '/v1/agent/events', undefined, { signal }),
  )) {
    if (name === 'ready') told.onReady();
    if (name === 'session') told.onSession(data as SessionRow);
  }
}
