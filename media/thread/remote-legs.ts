/**
 * The call loop's side of one media thread or process: starts it, sends it commands in batches and passes its
 * events to the legs' listeners. If it dies, its legs close as `failed` and another is started for later
 * calls.
 */
import type { Clock, Timer } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { Fault, fault } from '#config/errors.ts';
import { unpackEvents } from '../leg/event-batch.ts';
import type { Leg, LegCommand, LegEvent } from '../leg/leg.ts';
import type { MediaThreadSettings, Transport } from '../leg/leg-factory.ts';
import { legId } from '../leg/leg-id.ts';
import type { OpenedLeg } from '../leg/transport-leg.ts';
import { NO_STATS } from '../leg/web-leg.ts';
import { CommandBatch } from './command-batch.ts';
import type { FromMediaThread, ToMediaThread } from './thread-messages.ts';
import type { MediaTransport, RunnerListener } from './transport.ts';

/** Longest wait for an orderly stop; the speech detector may have to finish loading first. */
const STOP_TIMEOUT_MS = 5000;
/** Delay before a dead one is replaced, so that one that cannot run does not use up the CPU. */
const RESTART_DELAY_MS = 200;
/** Longest delay of one that has never run: the delay doubles with each attempt. */
const MOST_RESTART_DELAY_MS = 30_000;

/** What remote legs need. */
export interface RemoteLegsOptions {
  readonly run: (listener: RunnerListener) => MediaTransport;
  readonly settings: MediaThreadSettings;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onCrash?: ((error: Error) => void) | undefined;
  /** It has loaded what `warmUp` asked for, or what of it can be loaded; each replacement does the same. */
  readonly onWarm?: ((isComplete: boolean) => void) | undefined;
  /** It ended by itself, or could not start; says whether another is to take its place. Absent: yes. */
  readonly onEnded?: ((error: Error) => boolean) | undefined;
  readonly onLateness?: ((ms: number) => void) | undefined;
}

/** A leg being opened. */
interface PendingLeg {
  readonly kind: Leg['kind'];
  readonly resolve: (result: { leg: Leg; opened: OpenedLeg }) => void;
  readonly reject: (error: unknown) => void;
  /** Events of the leg before its opening is confirmed: a caller may already be in the room. */
  readonly early: LegEvent[];
}

/** Runs one media thread or process and its legs. */
export class RemoteLegs {
  readonly started: Promise<void>;
  readonly #options: RemoteLegsOptions;
  readonly #legs = new Map<number, ThreadedLeg>();
  readonly #pending = new Map<number, PendingLeg>();
  /** Settles `started`; null once one has run. */
  #start: { readonly resolve: () => void; readonly reject: (error: Error) => void; failures: number } | null =
    null;
  /** Null between a death and the replacement's start. */
  #runner: MediaTransport | null = null;
  #warmTransports: readonly Transport[] = [];
  /** Answers to `warmUp` that this thread or process has yet to give. */
  #warming = 0;
  #speakUntilMs: number | null = null;
  #nextLeg = 1;
  readonly #commands: CommandBatch;
  #restartTimer: Timer | null = null;
  #closing: Promise<void> | null = null;
  /** Called once the last leg has closed; null while more may come. */
  #onEmpty: (() => void) | null = null;
  #onStopped: () => void = () => undefined;

  constructor(options: RemoteLegsOptions) {
    this.#options = options;
    this.#commands = new CommandBatch(options.clock, (commands, transfer) =>
      this.#runner?.post({ type: 'commands', commands }, transfer),
    );
    this.started = new Promise((resolve, reject) => {
      this.#start = { resolve, reject, failures: 0 };
    });
    // Only callers awaiting `started` handle a failed start; legs being opened get their own error.
    this.started.catch(() => undefined);
    this.#startRunner();
  }

  /** Opens a leg; `message` contains the number assigned to it. */
  open(kind: Leg['kind'], message: (leg: number) => ToMediaThread): Promise<{ leg: Leg; opened: OpenedLeg }> {
    return new Promise((resolve, reject) => {
      if (this.#closing !== null) throw fault('draining');
      // A failed start is tried again with the next leg at the latest.
      if (!this.#runner && (this.#start || !this.#restartTimer)) this.#startRunner();
      if (!this.#runner) throw fault('no_capacity');
      const number = this.#nextLeg++;
      this.#pending.set(number, { kind, resolve, reject, early: [] });
      this.#runner.post(message(number));
    });
  }

  /** Loads now what the first leg would wait for; a replacement does the same when it starts. */
  warmUp(transports: readonly Transport[]): void {
    this.#warmTransports = transports;
    if (this.#runner) this.#postWarmUp(this.#runner);
    else if (!this.#restartTimer && !this.#closing) this.#startRunner();
  }

  /** Sends no audio after this time; a replacement does the same. */
  speakUntil(untilMs: number): void {
    this.#speakUntilMs = untilMs;
    this.#runner?.post({ type: 'speakUntil', untilMs });
  }

  /** Closes every leg and ends the thread or process. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#stop();
    return this.#closing;
  }

  /** Ends the thread or process when its legs have closed; opens no more of them. */
  async retire(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#onEmpty = resolve;
      this.#checkEmpty();
    });
    await this.close();
  }

  /** Queues one command; the buffers of `transfer` are transferred and no longer the caller's. */
  command(leg: number, command: LegCommand, transfer: readonly ArrayBuffer[]): void {
    this.#commands.add(leg, command, transfer);
  }

  #startRunner(): void {
    this.#restartTimer?.cancel();
    this.#restartTimer = null;
    const { run, settings } = this.#options;
    this.#runner = run({
      onMessage: (message) => this.#receive(message),
      onEnded: (error) => this.#ended(error),
    });
    this.#runner.post({ type: 'start', settings });
    if (this.#speakUntilMs !== null) this.#runner.post({ type: 'speakUntil', untilMs: this.#speakUntilMs });
    this.#warming = 0;
    if (this.#warmTransports.length > 0) this.#postWarmUp(this.#runner);
  }

  #postWarmUp(runner: MediaTransport): void {
    this.#warming += 1;
    runner.post({ type: 'warmUp', transports: this.#warmTransports });
  }

  #receive(message: FromMediaThread): void {
    switch (message.type) {
      case 'ready':
        this.#start?.resolve();
        this.#start = null;
        return;
      case 'warm':
        this.#warming -= 1;
        // An earlier request asked for less.
        if (this.#warming === 0) this.#options.onWarm?.(message.isComplete);
        return;
      case 'events':
        for (const [number, events] of unpackEvents(message.batch)) this.#deliver(number, events);
        return;
      case 'opened':
        this.#opened(message.leg, message.opened);
        return;
      case 'refused':
        this.#takePending(message.leg)?.reject(new Fault(message.code, message.message));
        this.#checkEmpty();
        return;
      case 'lateness':
        this.#options.onLateness?.(message.ms);
        return;
      case 'log':
        this.#options.logger[message.level]({ detail: message.detail }, message.message);
        return;
      case 'stopped':
        this.#onStopped();
        return;
      default:
        message satisfies never;
    }
  }

  #opened(number: number, opened: OpenedLeg): void {
    const pending = this.#takePending(number);
    if (!pending) return;
    const leg = new ThreadedLeg(number, pending.kind, opened, this);
    this.#legs.set(number, leg);
    if (pending.early.length > 0) this.#deliver(number, pending.early);
    pending.resolve({ leg, opened });
  }

  #takePending(number: number): PendingLeg | undefined {
    const pending = this.#pending.get(number);
    this.#pending.delete(number);
    return pending;
  }

  #deliver(number: number, events: readonly LegEvent[]): void {
    this.#pending.get(number)?.early.push(...events);
    const leg = this.#legs.get(number);
    if (events.at(-1)?.type === 'closed') this.#legs.delete(number);
    leg?.deliver(events);
    this.#checkEmpty();
  }

  #checkEmpty(): void {
    if (this.#legs.size === 0 && this.#pending.size === 0) this.#onEmpty?.();
  }

  #ended(error: Error): void {
    this.#runner = null;
    this.#onStopped();
    this.#commands.clear();
    const isUnasked = this.#closing === null;
    const hasLived = this.#start === null;
    this.#start?.reject(error);
    const isReplaced = isUnasked && (this.#options.onEnded?.(error) ?? true);
    if (isUnasked && hasLived) {
      const next = isReplaced ? 'starting another' : 'another one has the new calls';
      this.#options.logger.error({ err: error }, `the media thread or process ended; ${next}`);
      // Before the legs are notified: one that reopens at once must not start a second replacement.
      if (isReplaced) this.#restartAfter(RESTART_DELAY_MS);
    } else if (isReplaced && this.#warmTransports.length > 0) this.#retryStart(error);
    this.#failAll();
    if (isUnasked && hasLived) this.#options.onCrash?.(error);
  }

  /** None has ever run. Without this it would stay so: a worker that is not ready gets few calls. */
  #retryStart(error: Error): void {
    if (!this.#start) return;
    if (this.#start.failures === 0)
      this.#options.logger.error({ err: error }, 'the media thread or process cannot start; tried again');
    this.#restartAfter(Math.min(RESTART_DELAY_MS * 2 ** this.#start.failures, MOST_RESTART_DELAY_MS));
    this.#start.failures += 1;
  }

  #restartAfter(ms: number): void {
    this.#restartTimer = this.#options.clock.after(ms, () => this.#startRunner());
  }

  #failAll(): void {
    for (const pending of this.#pending.values()) pending.reject(fault('internal'));
    this.#pending.clear();
    const legs = [...this.#legs.values()];
    this.#legs.clear();
    const stats = NO_STATS;
    for (const leg of legs)
      leg.deliver([{ type: 'closed', atMs: this.#options.clock.now(), reason: 'failed', stats }]);
    this.#checkEmpty();
  }

  async #stop(): Promise<void> {
    this.#commands.close();
    this.#restartTimer?.cancel();
    const runner = this.#runner;
    if (!runner) return;
    const stopped = new Promise<void>((resolve) => {
      this.#onStopped = resolve;
    });
    const timeout = this.#options.clock.after(STOP_TIMEOUT_MS, () => this.#onStopped());
    runner.post({ type: 'stop' });
    await stopped;
    timeout.cancel();
    await runner.kill();
  }
}

/** A leg whose transport is on a media thread or in a process. */
class ThreadedLeg implements Leg {
  readonly id: string;
  readonly kind: Leg['kind'];
  readonly inRateHz: number;
  readonly outRateHz: number;
  readonly originMs: number;
  readonly #number: number;
  readonly #host: RemoteLegs;
  #listener: ((events: readonly LegEvent[]) => void) | null = null;
  #early: LegEvent[] = [];

  constructor(number: number, kind: Leg['kind'], opened: OpenedLeg, host: RemoteLegs) {
    this.id = legId(kind, number);
    this.kind = kind;
    this.inRateHz = opened.inRateHz;
    this.outRateHz = opened.outRateHz;
    this.originMs = opened.originMs;
    this.#number = number;
    this.#host = host;
  }

  send(command: LegCommand): void {
    if (command.do !== 'play') {
      this.#host.command(this.#number, command, []);
      return;
    }
    // Copied: the caller's arrays may be views of a larger buffer, which a transfer would take away.
    const samples = command.samples.slice();
    const marks = command.marks.slice();
    this.#host.command(this.#number, { ...command, samples, marks }, [samples.buffer, marks.buffer]);
  }

  listen(listener: (events: readonly LegEvent[]) => void): void {
    this.#listener = listener;
    const early = this.#early;
    this.#early = [];
    if (early.length > 0) listener(early);
  }

  deliver(events: readonly LegEvent[]): void {
    if (this.#listener) this.#listener(events);
    else this.#early.push(...events);
  }
}
