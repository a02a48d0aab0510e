/** The requirements on a MongoDB, and the fate of requests while it is unavailable. */

import type { Socket } from 'node:net';
import mongoose from 'mongoose';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger, type Logger } from '#base/log.ts';
import { faultOf } from '#control-plane/platform/http/problems.ts';
import { type Database, openDatabase } from '#control-plane/platform/store/database.ts';
import { limitRequestWaits } from '#control-plane/platform/store/request-wait.ts';
import { startMongodbServer } from '../../../fakes/mongodb-server.ts';
import { listenTcp } from '../../../fakes/tcp-server.ts';
import { openTestStore } from '../../test-store.ts';
import { withDatabase } from './open-test-database.ts';

const PATIENCE = { timeout: 30_000 };
const silent = createLogger({ level: 'silent', name: 'test' });
const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function open(mongodbUrl: string, logger: Logger = silent): Promise<Database> {
  const database = await openDatabase({
    mongodbUrl,
    dataDir: '/nonexistent',
    clock: systemClock,
    logger,
    onFatal: () => expect.unreachable(),
  });
  closers.push(() => database.close());
  return database;
}

async function mongodb(...answers: Parameters<typeof startMongodbServer>) {
  const server = await startMongodbServer(...answers);
  closers.push(() => server.close());
  return server;
}

/** A server that is not a database. */
async function listen(serve: (socket: Socket) => void): Promise<number> {
  const { port, close } = await listenTcp(serve);
  closers.push(close);
  return port;
}

describe('startup', () => {
  it.each([
    ['5.0.31', false],
    ['6.0.0', true],
    ['8.0.4', true],
  ])(
    'store 6: MongoDB %s is accepted: %s; the error for an older one names its setting',
    PATIENCE,
    async (version, isTaken) => {
      const { url } = await mongodb({ version });
      if (isTaken) await expect(open(url)).resolves.toBeDefined();
      else
        await expect(open(url)).rejects.toThrow(
          `MONGODB_URL: the database cannot be used: MongoDB 6.0 or newer is needed, this is ${version}`,
        );
    },
  );

  it(
    'store 13: fails on a silent or wrong address in one line that names the setting, not a password',
    PATIENCE,
    async () => {
      const nonsense: ((socket: Socket) => void)[] = [
        (socket) => void socket.resume(),
        (socket) =>
          void socket.on('data', () => socket.write('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n')),
        (socket) => void socket.write(Buffer.alloc(65_536, 0xa5)),
        // A message that claims to be two gigabytes long.
        (socket) => void socket.write(Buffer.from('ffffff7f000000000000000001000000', 'hex')),
      ];
      const ports = [1, ...(await Promise.all(nonsense.map(listen)))];
      const said = await Promise.all(
        ports.map((port) => open(`mongodb://parley:planted@127.0.0.1:${port}/parley`).catch(String)),
      );
      expect(said).toEqual(
        ports.map(() => expect.stringMatching(/^Error: MONGODB_URL: the database cannot be used: [^\n]+$/)),
      );
      expect(said.join()).not.toContain('planted');
    },
  );

  it('store 13: directConnection to one of several members logs a warning', PATIENCE, async () => {
    const warn = vi.fn();
    const logger = Object.assign(createLogger({ level: 'silent', name: 'test' }), {
      warn,
    }) as unknown as Logger;
    await open((await mongodb({ members: 3 })).url, logger);
    expect(warn.mock.calls.map(([, text]) => text)).toEqual([
      expect.stringContaining('directConnection=true'),
    ]);
    warn.mockClear();
    await open((await mongodb({ members: 1 })).url, logger);
    expect(warn).not.toHaveBeenCalled();
  });

  it('a clock that differs from that of MongoDB by more than 2.5 s logs a warning', PATIENCE, async () => {
    const warn = vi.fn();
    const logger = Object.assign(createLogger({ level: 'silent', name: 'test' }), {
      warn,
    }) as unknown as Logger;
    const members = 1;
    await open((await mongodb({ members, aheadMs: 0 })).url, logger);
    expect(warn).not.toHaveBeenCalled();
    await open((await mongodb({ members, aheadMs: -60_000 })).url, logger);
    expect(warn.mock.calls).toEqual([
      [expect.stringMatching(/^the clock of MongoDB is 60\.\d s behind this machine’s/)],
    ]);
  });
});

describe('an unavailable database', () => {
  const { MongoServerError, MongoWriteConcernError, MongoError, MongoErrorLabel } = mongoose.mongo;
  const server = (code: number) => new MongoServerError({ message: 'm', code });
  const labelled = Object.assign(new MongoError('m'), {});
  labelled.addErrorLabel(MongoErrorLabel.RetryableWriteError);
  it.each<[string, Error]>([
    ['InterruptedDueToReplStateChange', server(11_602)],
    ['InterruptedAtShutdown', server(11_600)],
    ['PrimarySteppedDown', server(189)],
    ['NotWritablePrimary', server(10_107)],
    ['NotPrimaryNoSecondaryOk', server(13_435)],
    [
      'a write no majority has',
      new MongoWriteConcernError({
        ok: 1,
        writeConcernError: { code: 64, errmsg: 'waiting for replication timed out' },
      } as never),
    ],
    ['a cleared pool', Object.assign(new Error('m'), { name: 'MongoPoolClearedError' })],
    ['whatever may be tried again', labelled],
  ])('store 8: %s is answered as unavailable', (_, error) => {
    expect(faultOf(error).code).toBe('database_unavailable');
  });

  it('store 8: a document that violates a rule does not count as one', () => {
    expect(faultOf(server(11_000)).code).toBe('internal');
    expect(faultOf(Object.assign(new Error('m'), { code: 189 })).code).toBe('internal');
  });

  describe('that ends a connection before a command is sent on it', () => {
    const ended = Object.assign(new Error('This socket has been ended by the other party'), {
      code: 'EPIPE',
    });
    const collectionOf = (insertOne: () => Promise<unknown>) => {
      const collection = { insertOne, find: () => ({}), aggregate: () => ({}) };
      limitRequestWaits({ collection });
      return collection;
    };

    it('gets the command on another one', async () => {
      const insertOne = vi.fn().mockRejectedValueOnce(ended).mockResolvedValue('inserted');
      expect(await collectionOf(insertOne).insertOne()).toBe('inserted');
      expect(insertOne).toHaveBeenCalledTimes(2);
    });

    it('counts as unavailable if it ends all of them', async () => {
      const error = await collectionOf(() => Promise.reject(ended))
        .insertOne()
        .catch((caught: Error) => caught);
      expect(faultOf(error as Error).code).toBe('database_unavailable');
    });
  });

  it.each(['updateMany', 'deleteMany'] as const)(
    'store 8: %s is retried once after a change of primary, and not twice',
    async (operation) => {
      const store = await openTestStore();
      closers.push(() => store.close());
      const { refusals } = store.models;
      const spied = vi.spyOn(refusals.collection, operation);
      const run = () =>
        operation === 'updateMany'
          ? refusals.updateMany({ team_id: 't' }, { $set: { message: 'm' } })
          : refusals.deleteMany({ team_id: 't' });
      spied.mockRejectedValueOnce(server(189));
      await expect(run()).resolves.toMatchObject({ acknowledged: true });
      expect(spied).toHaveBeenCalledTimes(2);
      spied.mockRejectedValueOnce(server(189)).mockRejectedValueOnce(server(189));
      await expect(run()).rejects.toThrow();
      spied.mockRejectedValueOnce(server(11_000));
      await expect(run()).rejects.toThrow();
      expect(spied).toHaveBeenCalledTimes(5);
      spied.mockRestore();
    },
  );
});

describe("the tests' own database", () => {
  it.each([
    ['mongodb://a:1,b:2,c:3/?replicaSet=rs0', 'mongodb://a:1,b:2,c:3/t?replicaSet=rs0'],
    ['mongodb://127.0.0.1', 'mongodb://127.0.0.1/t'],
    ['mongodb://u:p@a:1,b:2/parley?w=1', 'mongodb://u:p@a:1,b:2/t?w=1&authSource=parley'],
    ['mongodb://u:p@a:1', 'mongodb://u:p@a:1/t?authSource=admin'],
    ['mongodb+srv://u:p@a/x?authSource=y', 'mongodb+srv://u:p@a/t?authSource=y'],
  ])('store 9: keeps its authentication database on %s', (url, expected) => {
    expect(withDatabase(url, 't')).toBe(expected);
  });
});
