/**
 * Fetches the browser client (`/sdk.js`) when the first call starts, so that a page which nobody calls from
 * loads the widget alone.
 */
import type * as Client from '../client/sdk.ts';

/** Where this script came from; the client comes from there too, past any cache-busting query. */
const HERE = (document.currentScript as HTMLScriptElement | null)?.src ?? null;

/** Base address of the server the script came from; the page's own where the page does not say. */
export function ownServer(): string {
  return HERE === null ? location.origin : new URL('.', HERE).href.replace(/\/$/, '');
}

/** Loads the client. Rejects where the network or the page's security policy is in the way. */
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
