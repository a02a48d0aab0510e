/**
 * Entry point of what receives from the product: a bucket that keeps nothing, and the endpoint of the
 * webhooks. It takes every request and counts. A separate process, because its work is not the product's.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Requests so far. */
export interface Received {
  /** Objects stored, and their bytes. */
  readonly puts: number;
  readonly bytes: number;
  readonly webhooks: number;
}

const received = { puts: 0, bytes: 0, webhooks: 0 };
const server = createServer((request, response) => {
  const isObject = request.method === 'PUT';
  request.on('data', (chunk: Buffer) => {
    if (isObject) received.bytes += chunk.length;
  });
  request.on('end', () => {
    if (isObject) {
      received.puts += 1;
      response.setHeader('etag', '"stored"');
    } else received.webhooks += 1;
    response.end();
  });
});
const listening = new Promise<string>((resolve) =>
  server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)),
);
// The first question is for the address.
process.once('message', async () => {
  process.send?.(await listening);
  process.on('message', () => process.send?.(received));
});
process.on('disconnect', () => process.exit(0));
