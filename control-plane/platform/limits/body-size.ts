/** How much of a body a request says it brings, and how much has come. */
import type { FastifyRequest } from 'fastify';

/** A smaller body is no upload. */
export const SMALL_BYTES = 256 * 1024;

const come = new WeakMap<FastifyRequest, { bytes: number }>();

/** How large the body of a request says it is; null when it does not say. */
export function announcedBytes({ method, headers }: FastifyRequest): number | null {
  if (method === 'GET' || method === 'HEAD') return 0;
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : null;
}

/** What has come of a body, counted from the first call on, which is before it is read. */
export function comeBytes(request: FastifyRequest): { readonly bytes: number } {
  const known = come.get(request);
  if (known) return known;
  const counted = { bytes: 0 };
  come.set(request, counted);
  // Listening alone would start the body before its reader is there.
  request.raw.pause();
  request.raw.on('data', (chunk: { readonly length: number }) => {
    counted.bytes += chunk.length;
  });
  return counted;
}

/** Tells once that more than a small body has come. */
export function onceLarge(request: FastifyRequest, tell: () => void): void {
  const { raw } = request;
  const counted = comeBytes(request);
  const look = () => {
    if (counted.bytes <= SMALL_BYTES) return;
    raw.off('data', look);
    tell();
  };
  raw.on('data', look);
}

/**
 * What a request keeps of its body: what it says, or else what has come of it; an upload's is bounded by its
 * place.
 */
export function keptBytes(request: FastifyRequest): number {
  const bytes = announcedBytes(request) ?? comeBytes(request).bytes;
  return bytes > SMALL_BYTES ? 0 : bytes;
}
