/**
 * A stand-in for MongoDB over TCP: an embedded database behind a server that can report another version or
 * replica set, or stop answering.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedDatabase } from '#control-plane/platform/store/embedded/embedded-database.ts';
import { frameReply, MessageSplitter, parseMessage } from '#control-plane/platform/store/embedded/wire.ts';

/** A running stand-in. */
export interface MongodbServer {
  readonly url: string;
  /** From now on the server accepts connections and requests but never answers. */
  freeze(): void;
  close(): Promise<void>;
}

/** What the server reports about itself; defaults to its real answers. */
export interface MongodbAnswers {
  readonly version?: string;
  readonly members?: number;
  /** How far its clock is ahead of this machine's, ms. */
  readonly aheadMs?: number;
}

export async function startMongodbServer({
  version,
  members,
  aheadMs,
}: MongodbAnswers = {}): Promise<MongodbServer> {
  const directory = mkdtempSync(join(tmpdir(), 'parley-mongodb-'));
  const database = await startEmbeddedDatabase({
    directory,
    onFatal: (error) => {
      throw error;
    },
  });
  const sockets = new Set<Socket>();
  let isFrozen = false;
  const server = createServer((client) => {
    const upstream = connect(join(directory, 'database.sock'));
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    }
    client.on('close', () => upstream.destroy());
    upstream.on('data', (chunk) => {
      if (!isFrozen) client.write(chunk);
    });
    const splitter = new MessageSplitter();
    client.on('data', (chunk) => {
      if (isFrozen) return;
      for (const message of splitter.push(chunk)) {
        const own = ownAnswer(message);
        if (own) client.write(own);
        else upstream.write(message);
      }
    });
  });

  function ownAnswer(message: Buffer): Buffer | null {
    const request = parseMessage(message);
    const name = Object.keys(request.command)[0]?.toLowerCase();
    if (version !== undefined && name === 'buildinfo') return frameReply(request, { version });
    if (members === undefined || (name !== 'hello' && name !== 'ismaster')) return null;
    const hosts = Array.from({ length: members }, (_, member) => `127.0.0.1:${port() + member}`);
    const limits = {
      maxBsonObjectSize: 16_777_216,
      maxMessageSizeBytes: 48_000_000,
      maxWriteBatchSize: 100_000,
      minWireVersion: 0,
      maxWireVersion: 21,
    };
    return frameReply(request, {
      helloOk: true,
      isWritablePrimary: true,
      ismaster: true,
      setName: 'rs',
      setVersion: 1,
      hosts,
      me: hosts[0],
      primary: hosts[0],
      ...(aheadMs !== undefined && { localTime: new Date(Date.now() + aheadMs) }),
      ...limits,
    });
  }

  const port = () => (server.address() as AddressInfo).port;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `mongodb://127.0.0.1:${port()}/parley?directConnection=true`,
    freeze: () => {
      isFrozen = true;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await database.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
