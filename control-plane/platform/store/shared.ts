/** Coordination through Redis, for several replicas of the control plane. */
import { Redis } from 'ioredis';
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { fault } from '#config/errors.ts';
import type { Coordination, Json, WindowState } from './coordination.ts';

/** Dependencies. */
export interface SharedCoordinationDeps {
  readonly url: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

const PREFIX = 'parley:';
const COMMAND_MS = 2_000;
const START_MS = 10_000;
const MAX_RECONNECT_MS = 2_000;
/** Allowed clock difference between replicas; windows are kept this much longer. */
const CLOCK_SKEW_MS = 1_000;

/** Increments a counter that expires with its window. */
const HIT =
  "local c = redis.call('INCR', KEYS[1]) if c == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end return c";

/** Connects to Redis; rejects if it is unreachable. Later disconnections recover automatically. */
export async function connectSharedCoordination(deps: SharedCoordinationDeps): Promise<Coordination> {
  const options = {
    lazyConnect: true,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    commandTimeout: COMMAND_MS,
    connectTimeout: COMMAND_MS,
    retryStrategy: (attempt: number) => Math.min(attempt * 100, MAX_RECONNECT_MS),
  };
  const commands = new Redis(deps.url, options);
  const messages = new Redis(deps.url, options);
  for (const connection of [commands, messages]) {
    connection.on('error', (error: Error) =>
      deps.logger.debug({ err: error }, 'error on a Redis connection'),
    );
    connection.on('close', () => deps.logger.warn('lost a Redis connection'));
  }
  const limit = new AbortController();
  const late = deps.clock
    .sleep(START_MS, limit.signal)
    .then(() => Promise.reject(new Error(`no Redis has answered within ${START_MS / 1_000} s`)));
  try {
    await Promise.race([late, Promise.all([commands.connect(), messages.connect()])]);
  } catch (error) {
    commands.disconnect();
    messages.disconnect();
    throw new Error(
      'REDIS_URL: the Redis cannot be used: ' +
        `${error instanceof Error ? (error.message.split('\n')[0] ?? '') : 'no answer'}`,
      {
        cause: error,
      },
    );
  } finally {
    late.catch(() => undefined);
    limit.abort();
  }
  return new RedisCoordination({ commands, messages, clock: deps.clock, logger: deps.logger });
}

interface Connections {
  readonly commands: Redis;
  /** A separate connection, because a subscribed one cannot run other commands. */
  readonly messages: Redis;
  readonly clock: Clock;
  readonly logger: Logger;
}

class RedisCoordination implements Coordination {
  readonly #connections: Connections;
  readonly #listeners = new Map<string, Set<(message: Json) => void>>();

  constructor(connections: Connections) {
    this.#connections = connections;
    connections.messages.on('message', (channel: string, text: string) => {
      const message = jsonOf(text);
      // Non-JSON messages are not ours.
      if (message !== undefined) for (const listener of this.#listeners.get(channel) ?? []) listener(message);
    });
  }

  async countInWindow(key: string, limit: number, windowMs: number): Promise<WindowState> {
    const { commands, clock, logger } = this.#connections;
    const nowMs = clock.wallTime();
    const window = Math.floor(nowMs / windowMs);
    const resetMs = (window + 1) * windowMs - nowMs;
    try {
      const count = Number(
        await commands.eval(HIT, 1, `${PREFIX}window:${key}:${window}`, Math.ceil(resetMs) + CLOCK_SKEW_MS),
      );
      if (!Number.isSafeInteger(count)) throw new Error('the count is not a number');
      return { allowed: count <= limit, count, resetMs };
    } catch (error) {
      // Rate limits are best effort: calls continue without them.
      logger.warn({ err: error }, 'failed to count a request in Redis; the request is allowed');
      return { allowed: true, count: 0, resetMs };
    }
  }

  async claim(key: string, ttlMs: number): Promise<boolean> {
    return (
      (await run(() => this.#connections.commands.set(`${PREFIX}claim:${key}`, '', 'PX', ttlMs, 'NX'))) ===
      'OK'
    );
  }

  async announce(key: string, value: Json, ttlMs: number): Promise<void> {
    await run(() =>
      this.#connections.commands.set(`${PREFIX}value:${key}`, JSON.stringify(value), 'PX', ttlMs),
    );
  }

  async find(key: string): Promise<Json> {
    const text = await run(() => this.#connections.commands.get(`${PREFIX}value:${key}`));
    return (text === null ? null : jsonOf(text)) ?? null;
  }

  async withdraw(key: string): Promise<void> {
    await run(() => this.#connections.commands.del(`${PREFIX}value:${key}`));
  }

  async publish(channel: string, message: Json): Promise<void> {
    await run(() => this.#connections.commands.publish(PREFIX + channel, JSON.stringify(message)));
  }

  async subscribe(channel: string, listener: (message: Json) => void): Promise<() => Promise<void>> {
    const name = PREFIX + channel;
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners.add(listener));
    await run(() => this.#connections.messages.subscribe(name));
    return async () => {
      listeners.delete(listener);
      if (listeners.size > 0 || this.#listeners.get(name) !== listeners) return;
      this.#listeners.delete(name);
      await this.#connections.messages.unsubscribe(name);
    };
  }

  async close(): Promise<void> {
    this.#listeners.clear();
    for (const connection of [this.#connections.commands, this.#connections.messages]) {
      connection.removeAllListeners('close');
      connection.disconnect();
    }
  }
}

/** Runs a Redis command; a failure becomes a fault that lets clients retry. */
async function run<Answer>(command: () => Promise<Answer>): Promise<Answer> {
  try {
    return await command();
  } catch (error) {
    throw fault('redis_unavailable', {}, { cause: error });
  }
}

/** Undefined if the text is not JSON. */
function jsonOf(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
