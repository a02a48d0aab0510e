/**
 * Coordination through Redis, for several replicas of the control plane. While Redis is away, this replica
 * counts and claims alone, and messages between replicas are lost; everything else works.
 */
import { Redis } from 'ioredis';
import type { Clock } from '#base/clock.ts';
import { MAX_CLOCK_DIFFERENCE_MS } from '#base/clock-difference.ts';
import type { Logger } from '#base/log.ts';
import { type Coordination, createMemoryCoordination, type Json, type WindowState } from './coordination.ts';

/** Dependencies. */
export interface SharedCoordinationDeps {
  readonly url: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

const PREFIX = 'parley:';
const COMMAND_MS = 2_000;
const MAX_RECONNECT_MS = 2_000;

/** The result of a command that Redis has not answered as it should. */
const AWAY = Symbol('away');

/** Increments a counter that expires with its window. */
const HIT =
  "local c = redis.call('INCR', KEYS[1]) if c == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end return c";

/**
 * Connects to Redis. If it does not answer, resolves all the same, and connects when it does. Rejects if
 * `REDIS_URL` is wrong: the server refuses the password or does not speak Redis's protocol.
 */
export async function connectSharedCoordination(deps: SharedCoordinationDeps): Promise<Coordination> {
  const { url, clock, logger } = deps;
  const options = {
    lazyConnect: true,
    enableOfflineQueue: false,
    autoResubscribe: false,
    maxRetriesPerRequest: 1,
    commandTimeout: COMMAND_MS,
    connectTimeout: COMMAND_MS,
    retryStrategy: (attempt: number) => Math.min(attempt * 100, MAX_RECONNECT_MS),
  };
  const commands = new Redis(url, options);
  const messages = new Redis(url, options);
  let lastError = new Error('it closes the connection');
  for (const connection of [commands, messages]) {
    connection.on('error', (error: Error) => {
      lastError = error;
      logger.debug({ err: error }, 'error on a Redis connection');
    });
  }
  const coordination = new RedisCoordination({ commands, messages, clock, logger });
  await Promise.all([commands, messages].map((connection) => connection.connect().catch(() => undefined)));
  if (commands.status === 'ready' && messages.status === 'ready') return coordination;
  const [reason] = lastError.message.split('\n');
  if (isMistake(lastError)) {
    await coordination.close();
    throw new Error(`REDIS_URL: the Redis cannot be used: ${reason}`, { cause: lastError });
  }
  logger.error(
    `REDIS_URL: Redis does not answer (${reason}). Until it does, this replica applies rate limits alone ` +
      'and uses only the workers connected to it',
  );
  return coordination;
}

/** True if waiting will not help. */
function isMistake({ name, message }: Error): boolean {
  return name === 'ReplyError' || message.startsWith('Unknown RESP type');
}

interface Connections {
  readonly commands: Redis;
  /** A separate connection, because a subscribed one cannot run other commands. */
  readonly messages: Redis;
  readonly clock: Clock;
  readonly logger: Logger;
}

class RedisCoordination implements Coordination {
  readonly #commands: Redis;
  readonly #messages: Redis;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #listeners = new Map<string, Set<(message: Json) => void>>();
  /** Counts and claims while Redis is away. */
  readonly #alone: Coordination;

  constructor({ commands, messages, clock, logger }: Connections) {
    this.#commands = commands;
    this.#messages = messages;
    this.#clock = clock;
    this.#logger = logger;
    this.#alone = createMemoryCoordination(clock);
    messages.on('message', (channel: string, text: string) => {
      const message = jsonOf(text);
      // Non-JSON messages are not ours.
      if (message !== undefined) for (const listener of this.#listeners.get(channel) ?? []) listener(message);
    });
    messages.on('ready', () => {
      for (const name of this.#listeners.keys()) void this.#subscribeTo(name);
    });
    for (const connection of [commands, messages]) {
      let wasReady = false;
      connection.on('ready', () => {
        wasReady = true;
      });
      connection.on('close', () => {
        if (wasReady) logger.warn('lost a Redis connection');
        wasReady = false;
      });
    }
  }

  async countInWindow(key: string, limit: number, windowMs: number): Promise<WindowState> {
    const nowMs = this.#clock.wallTime();
    const window = Math.floor(nowMs / windowMs);
    const resetMs = (window + 1) * windowMs - nowMs;
    const expiryMs = Math.ceil(resetMs) + MAX_CLOCK_DIFFERENCE_MS;
    const name = `${PREFIX}window:${key}:${window}`;
    const count = await this.#run(() => this.#commands.eval(HIT, 1, name, expiryMs));
    return typeof count === 'number'
      ? { allowed: count <= limit, count, resetMs }
      : this.#alone.countInWindow(key, limit, windowMs);
  }

  async claim(key: string, ttlMs: number): Promise<boolean> {
    const answer = await this.#run(() => this.#commands.set(`${PREFIX}claim:${key}`, '', 'PX', ttlMs, 'NX'));
    return answer === AWAY ? this.#alone.claim(key, ttlMs) : answer === 'OK';
  }

  async publish(channel: string, message: Json): Promise<void> {
    await this.#run(() => this.#commands.publish(PREFIX + channel, JSON.stringify(message)));
  }

  async subscribe(channel: string, listener: (message: Json) => void): Promise<() => Promise<void>> {
    const name = PREFIX + channel;
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners.add(listener));
    await this.#subscribeTo(name);
    return async () => {
      listeners.delete(listener);
      if (listeners.size > 0 || this.#listeners.get(name) !== listeners) return;
      this.#listeners.delete(name);
      await this.#run(() => this.#messages.unsubscribe(name));
    };
  }

  async close(): Promise<void> {
    this.#listeners.clear();
    for (const connection of [this.#commands, this.#messages]) {
      connection.removeAllListeners('close');
      connection.disconnect();
    }
    await this.#alone.close();
  }

  /** Without a connection there is nothing to do: the next one subscribes to every channel. */
  async #subscribeTo(name: string): Promise<void> {
    await this.#run(() => this.#messages.subscribe(name));
  }

  /** Runs a Redis command. */
  async #run<Answer>(command: () => Promise<Answer>): Promise<Answer | typeof AWAY> {
    try {
      return await command();
    } catch (error) {
      this.#logger.debug({ err: error }, 'a Redis command failed');
      // Otherwise each command would wait for the timeout of a connection that leads nowhere.
      if (error instanceof Error && error.message === 'Command timed out')
        for (const connection of [this.#commands, this.#messages])
          if (connection.status === 'ready') connection.disconnect(true);
      return AWAY;
    }
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
