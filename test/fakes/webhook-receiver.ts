/** A tenant's webhook endpoint on the loopback: records requests and returns configurable answers. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request as received. */
export interface ReceivedWebhook {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly raw: Buffer;
  // biome-ignore lint/suspicious/noExplicitAny: tests look at whatever came
  readonly body: any;
}

/** Answer of an endpoint; `hang` never answers. */
export type WebhookAnswer =
  | { readonly status: number; readonly body?: string; readonly headers?: Record<string, string> }
  | 'hang';

/** A running receiver. */
export interface WebhookReceiver {
  readonly url: string;
  readonly received: ReceivedWebhook[];
  /** Chooses the answer to each request; 200 until set. */
  answer: (request: ReceivedWebhook) => WebhookAnswer | Promise<WebhookAnswer>;
  /** Resolves with all requests once `count` have arrived; rejects after five seconds. */
  waitFor(count: number): Promise<readonly ReceivedWebhook[]>;
  close(): Promise<void>;
}

/** Opens a receiver on a free port. */
export async function openWebhookReceiver(): Promise<WebhookReceiver> {
  const waiters: { count: number; resolve: (received: readonly ReceivedWebhook[]) => void }[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const raw = Buffer.concat(chunks);
      const webhook = {
        path: request.url ?? '',
        headers: request.headers,
        raw,
        body: JSON.parse(raw.toString('utf8')),
      };
      receiver.received.push(webhook);
      void Promise.resolve(receiver.answer(webhook)).then((answer) => {
        if (answer !== 'hang') response.writeHead(answer.status, answer.headers).end(answer.body ?? '');
      });
      for (const waiter of waiters)
        if (receiver.received.length >= waiter.count) waiter.resolve(receiver.received);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const receiver: WebhookReceiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received: [],
    answer: () => ({ status: 200 }),
    waitFor: (count) =>
      new Promise((resolve, reject) => {
        if (receiver.received.length >= count) return resolve(receiver.received);
        const limit = setTimeout(
          () => reject(new Error(`${receiver.received.length} of ${count} webhooks came`)),
          5_000,
        );
        waiters.push({
          count,
          resolve: (received) => {
            clearTimeout(limit);
            resolve(received);
          },
        });
        return undefined;
      }),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return receiver;
}
