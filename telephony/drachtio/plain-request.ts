/** A request outside any call, over drachtio-srf: sent once, and answered with whatever comes back. */
import type Srf from 'drachtio-srf';
import { headerList, parseMessage, uriOf } from '../embedded/message.ts';
import type { PlainRequest, PlainResponse } from '../signalling.ts';
import { isConnectionLost } from './errors.ts';
import type { ServerConnection } from './server-connection.ts';

const UNREACHABLE = { status: 503, headers: [], sourceAddress: '', contact: null } as const;

/** Its types ask for the socket of the server, of which there is one. */
interface PlainSrf {
  request(
    uri: string,
    options: { readonly method: string; readonly proxy: string; readonly headers: Record<string, string> },
    onSent: (error: unknown, sent: Srf.SrfRequest) => void,
  ): void;
}

/** Sends it through this server. Rejects if the server is lost before an answer. */
export function sendPlainRequest(
  server: ServerConnection,
  { method, uri, nextHop, headers }: PlainRequest,
): Promise<PlainResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<PlainResponse>();
  const onSent = (error: unknown, sent: Srf.SrfRequest) => {
    if (error) {
      if (isConnectionLost(error)) reject(error as Error);
      // The server cannot send it, for instance over TLS without a certificate of its own.
      else resolve({ ...UNREACHABLE, reason: String(error), server: server.name });
      return;
    }
    const contact = contactOf(rawOf(sent));
    const onResponse = (response: Srf.SrfResponse) => {
      if (response.status < 200) return;
      const { source_address: sourceAddress } = response as unknown as { readonly source_address: string };
      const message = parseMessage(rawOf(response));
      resolve({
        status: response.status,
        reason: message?.start.kind === 'response' ? message.start.reason : '',
        headers: message?.headers ?? [],
        sourceAddress,
        contact,
        server: server.name,
      });
    };
    sent.on('response' as 'cancel', onResponse as never);
  };
  const options = { method, proxy: nextHop, headers: { ...headers } };
  const { srf } = server as unknown as { readonly srf: PlainSrf };
  srf.request(uri, options, onSent);
  return server.whileConnected(promise);
}

/** The text of a message; several headers of one name are apart only there. */
export function rawOf(message: unknown): string {
  const { msg } = (message ?? {}) as { readonly msg?: { readonly raw?: string } };
  return msg?.raw ?? '';
}

function contactOf(raw: string): string | null {
  const message = parseMessage(raw);
  const contact = message && headerList(message, 'contact')[0];
  return contact ? uriOf(contact) : null;
}
