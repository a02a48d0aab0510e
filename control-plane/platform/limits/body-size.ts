/** Declared and received sizes of request bodies. */
import type { FastifyRequest } from 'fastify';

/** Smaller bodies do not count as uploads. */
export const SMALL_BYTES = 256 * 1024;

const counters = new WeakMap<FastifyRequest, { bytes: number }>();

/** Body size declared by the request; null if it declares none. */
export function declaredBytes({ method, headers }: FastifyRequest): number | null {
  if (method === 'GET' || method === 'HEAD') return 0;
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : null;
}

/** Bytes of the body received so far. Counting starts with the first call, which must precede reading. */
export function countReceivedBytes(request: FastifyRequest): { readonly bytes: number } {
  const known = counters.get(request);
  if (known) return known;
  const counted = { bytes: 0 };
  counters.set(request, counted);
  // Adding a listener would start the stream before its reader is attached.
  request.raw.pause();
  request.raw.on('data', (chunk: { readonly length: number }) => {
    counted.bytes += chunk.length;
  });
  return counted;
}

/** Calls `tell` once, when the received body exceeds the small size. */
export function onLargeBody(request: FastifyRequest, tell: () => void): void {
  const { raw } = request;
  const counted = countReceivedBytes(request);
  const look = () => {
    if (counted.bytes <= SMALL_BYTES) return;
    raw.off('data', look);
    tell();
  };
  raw.on('data', look);
}

/**
 * Bytes of body that a request holds in memory: the declared size, or the received size if none is declared.
 * An upload counts as 0, because its place already limits it.
 */
export function bytesInMemory(request: FastifyRequest): number {
  const bytes = declaredBytes(request) ?? countReceivedBytes(request).bytes;
  return bytes > SMALL_BYTES ? 0 : bytes;
}
