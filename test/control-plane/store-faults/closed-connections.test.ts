import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { type Database, openDatabase } from '#control-plane/platform/store/database.ts';
import { type MongodbServer, startMongodbServer } from '#test/fakes/mongodb-server.ts';

const ROUNDS = 2;
const AT_ONCE = 10;
/** The driver does not check a server that it has just checked: 500 ms. */
const UNCHECKED_MS = 600;
/** Long enough that both ends of all connections are closed in the same turn of the event loop. */
const BUSY_MS = 30;

describe('A MongoDB that closes all connections at once', () => {
  let server: MongodbServer;
  let database: Database;

  beforeAll(async () => {
    server = await startMongodbServer();
    database = await openDatabase({
      mongodbUrl: server.url,
      dataDir: '',
      clock: systemClock,
      logger: createLogger({ level: 'silent', name: 'test' }),
      onFatal: () => undefined,
    });
  });

  afterAll(async () => {
    await database.close();
    await server.close();
  });

  const find = () => database.connection.collection('calls').findOne({});

  it('is found again, and every command under way gets an answer', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      await Promise.all(Array.from({ length: AT_ONCE }, find));
      await new Promise((resolve) => setTimeout(resolve, UNCHECKED_MS));
      const underWay = Promise.all(Array.from({ length: AT_ONCE / 2 }, find));
      server.refuse();
      const accepts = server.accept();
      const busyUntil = performance.now() + BUSY_MS;
      while (performance.now() < busyUntil);
      await accepts;
      expect(await underWay).toEqual(Array(AT_ONCE / 2).fill(null));
      expect(await find()).toBeNull();
    }
  });
});
