/**
 * Coordination through Redis, for several replicas of the control plane. While Redis is away, this replica
 * counts and claims alone, and its messages reach only itself.
 */
import { Redis } from 'ioredis';
import type { Clock, Timer } from '#base/clock.ts';
import { MAX_CLOCK_DIFFERENCE_MS } from '#base/clock-difference.ts';
import type { Logger } from '#base/log.ts';
import { waitAtMost } from '#base/wait-at-most.ts';
import { type Coordination, createMemoryCoordination, type Json, type WindowState } from './coordination.ts';

/** Dependencies. */
export interface SharedCoordinationDeps {
  readonly url: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onCommand?: OnCommand | undefined;
}

/** Called after each command with its duration, ms. */
type OnCommand = (outcome: 'answered' | 'unanswered', ms: number) => void;

const PREFIX = 'parley:';
const COMMAND_MS = 2_000;
/** The start waits this long for Redis, which may be loading its data. */
const START_MS = 5_000;
const MAX_RECONNECT_MS = 2_000;
/** A closed connection is destroyed after this long. */
const DISCONNECT_MS = 100;
/** A connection that only receives is tested this often. */
const TEST_MS = 5_000;

/** Increments a counter that expires with its window. */
const HIT =
  "local c = redis.call('INCR', KEYS[1]) if c == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end return c";

/** The result of a command that Redis has not answered as it should. */
const AWAY = Symbol('away');

/**
 * Connects to Redis. If it does not answer in time, resolves all the same, and connects when it does. Rejects
 * if `REDIS_URL` is wrong: the server refuses the login or does not speak Redis's protocol.
 */
export async function connectSharedCoordination(deps: SharedCoordinationDeps): Promise<Coordination> {
  const { url, clock, logger, onCommand } = deps;
  const options = {
    lazyConnect: true,
    enableOfflineQueue: false,
    autoResubscribe: false,
    maxRetriesPerRequest: 1,
    commandTimeout: COMMAND_MS,
    connectTimeout: COMMAND_MS,
    // Destroys a connection on which a command gets no answer: otherwise each command would wait for it.
    socketTimeout: COMMAND_MS,
    disconnectTimeout: DISCONNECT_MS,
    retryStrategy: (attempt: number) => Math.min(attempt * 100, MAX_RECONNECT_MS),
  };
  const connections = [new Redis(url, options), new Redis(url, options)] as const;
  const [commands, messages] = connections;
  const errors: Error[] = [];
  for (const connection of connections) {
    connection.on('error', (error: Error) => {
      errors.push(error);
      errors.splice(0, errors.length - MAX_ERRORS);
      logger.debug({ err: error }, 'error on a Redis connection');
    });
  }
  const coordination = new RedisCoordination({ commands, messages, clock, logger, onCommand });
  const connected = connections.map((connection) => connection.connect().catch(() => undefined));
  await waitAtMost(clock, START_MS, Promise.all(connected));
  if (connections.every(({ status }) => status === 'ready')) return coordination;
  const mistake = errors.find(isMistake);
  if (mistake) {
    await coordination.close();
    throw new Error(`REDIS_URL: the Redis cannot be used: ${firstLine(mistake)}`, { cause: mistake });
  }
  coordination.noteFailure(commands, errors.at(-1) ?? new Error('no answer'));
  return coordination;
}

/** Errors kept while connecting: the last of them tell why it failed. */
const MAX_ERRORS = 10;

/** True if waiting will not help. Redis sends other errors while it is loading, busy or full. */
function isMistake({ message }: Error): boolean {
  return /^(WRONGPASS|NOAUTH|NOPERM|DENIED|ERR invalid password|Unknown RESP type)/.test(message);
}

function firstLine({ message }: Error): string {
  return message.split('\n')[0] ?? '';
}

interface Connections {
  readonly commands: Redis;
  /** A separate connection, because a subscribed one cannot run other commands. */
  readonly messages: Redis;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onCommand: OnCommand | undefined;
}

class RedisCoordination implements Coordination {
  readonly #commands: Redis;
  readonly #messages: Redis;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #onCommand: OnCommand | undefined;
  readonly #listeners = new Map<string, Set<(message: Json) => void>>();
  readonly #gapListeners = new Set<() => void>();
  /** Counts, claims and carries messages while Redis is away. */
  readonly #alone: Coordination;
  readonly #test: Timer;
  /** Connections whose last command failed. */
  readonly #failed = new Set<Redis>();
  /** Messages may have been missed since the channels were last subscribed to. */
  #isDeaf = false;

  constructor({ commands, messages, clock, logger, onCommand }: Connections) {
    this.#onCommand = onCommand;
    this.#commands = commands;
    this.#messages = messages;
    this.#clock = clock;
    this.#logger = logger;
    this.#alone = createMemoryCoordination(clock);
    messages.on('message', (channel: string, text: string) => {
      const message = jsonOf(text);
      // Non-JSON messages are not ours.
      if (message !== undefined) this.#deliver(channel, message);
    });
    messages.on('ready', () => void this.#resubscribe());
    messages.on('close', () => {
      this.#isDeaf = true;
    });
    this.#test = clock.every(TEST_MS, () => {
      if (this.#isDeaf) void this.#resubscribe();
      else void this.#run(messages, (redis) => redis.ping());
    });
  }

  async countInWindow(key: string, limit: number, windowMs: number): Promise<WindowState> {
    const nowMs = this.#clock.wallTime();
    const window = Math.floor(nowMs / windowMs);
    const resetMs = (window + 1) * windowMs - nowMs;
    const expiryMs = Math.ceil(resetMs) + MAX_CLOCK_DIFFERENCE_MS;
    const name = `${PREFIX}window:${key}:${window}`;
    const count = await this.#run(this.#commands, (redis) => redis.eval(HIT, 1, name, expiryMs));
    return typeof count === 'number'
      ? { allowed: count <= limit, count, resetMs }
      : this.#alone.countInWindow(key, limit, windowMs);
  }

  async claim(key: string, ttlMs: number): Promise<boolean> {
    const answer = await this.#run(this.#commands, (redis) =>
      redis.set(`${PREFIX}claim:${key}`, '', 'PX', ttlMs, 'NX'),
    );
    return answer === AWAY ? this.#alone.claim(key, ttlMs) : answer === 'OK';
  }

  async prolong(key: string, ttlMs: number): Promise<void> {
    const name = `${PREFIX}claim:${key}`;
    const answer = await this.#run(this.#commands, (redis) => redis.set(name, '', 'PX', ttlMs));
    if (answer === AWAY) await this.#alone.prolong(key, ttlMs);
  }

  async publish(channel: string, message: Json): Promise<void> {
    const text = JSON.stringify(message);
    const sent = await this.#run(this.#commands, (redis) => redis.publish(PREFIX + channel, text));
    if (sent === AWAY) this.#deliver(PREFIX + channel, JSON.parse(text) as Json);
  }

  async subscribe(channel: string, listener: (message: Json) => void): Promise<() => Promise<void>> {
    const name = PREFIX + channel;
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners.add(listener));
    if ((await this.#run(this.#messages, (redis) => redis.subscribe(name))) === AWAY) this.#isDeaf = true;
    return async () => {
      listeners.delete(listener);
      if (listeners.size > 0 || this.#listeners.get(name) !== listeners) return;
      this.#listeners.delete(name);
      await this.#run(this.#messages, (redis) => redis.unsubscribe(name));
    };
  }

  onGap(listener: () => void): () => void {
    this.#gapListeners.add(listener);
    return () => void this.#gapListeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#test.cancel();
    this.#listeners.clear();
    for (const connection of [this.#commands, this.#messages]) {
      connection.removeAllListeners('close');
      connection.removeAllListeners('ready');
      connection.disconnect();
    }
    await this.#alone.close();
  }

  /** Notes that a command failed; logs the first failure. */
  noteFailure(connection: Redis, reason: Error): void {
    if (this.#failed.size === 0)
      this.#logger.error(
        `REDIS_URL: Redis does not answer (${firstLine(reason)}). Until it does, this replica applies rate ` +
          'limits alone and uses only the workers connected to it',
      );
    this.#failed.add(connection);
  }

  #deliver(name: string, message: Json): void {
    for (const listener of this.#listeners.get(name) ?? []) listener(message);
  }

  /** Subscribes to every channel after a new connection. */
  async #resubscribe(): Promise<void> {
    const names = [...this.#listeners.keys()];
    if (names.length > 0 && (await this.#run(this.#messages, (redis) => redis.subscribe(...names))) === AWAY)
      return;
    const hadGap = this.#isDeaf;
    this.#isDeaf = false;
    if (hadGap) for (const listener of this.#gapListeners) listener();
  }

  async #run<Answer>(
    connection: Redis,
    command: (redis: Redis) => Promise<Answer>,
  ): Promise<Answer | typeof AWAY> {
    const startMs = this.#clock.now();
    const note = (outcome: 'answered' | 'unanswered') =>
      this.#onCommand?.(outcome, this.#clock.now() - startMs);
    try {
      const answer = await command(connection);
      note('answered');
      if (this.#failed.delete(connection) && this.#failed.size === 0)
        this.#logger.info('Redis answers again');
      return answer;
    } catch (error) {
      note('unanswered');
      this.noteFailure(connection, error instanceof Error ? error : new Error(String(error)));
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
