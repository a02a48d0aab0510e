/**
 * Fetches the browser client (`/sdk.js`) when the first call starts: without a call, a page loads only the
 * widget.
 */
import type * as Client from '../client/sdk.ts';

/** URL of this script. The client is loaded from the same place, without a cache-busting query. */
const HERE = (document.currentScript as HTMLScriptElement | null)?.src ?? null;

/** Base address of the server that served the script; the page's own origin if unknown. */
export function ownServer(): string {
  return HERE === null ? location.origin : new URL('.', HERE).href.replace(/\/$/, '');
}

/** Loads the client. Rejects if the network or the page's security policy prevents it. */
export async function loadClient(): Promise<typeof Client> {
  const address = `${ownServer()}/sdk.js`;
  try {
    return (await import(/* @vite-ignore */ address)) as typeof Client;
  } catch (error) {
    throw new Error(`${address} could not be loaded; a Content-Security-Policy must allow it in script-src`, {
      cause: error,
    });
  }
}
