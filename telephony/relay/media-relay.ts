/**
 * Audio of phone calls through rtpengine: each session description is replaced by one that names the relay,
 * so that neither side learns the other's address.
 */
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { fault } from '#config/errors.ts';
import { type NgClient, type NgCommand, NgSilent } from './ng-client.ts';

/** The side that wrote a session description: the carrier or phone, or the worker. */
export type RelaySide = 'network' | 'worker';

/** Relays the audio of phone calls. */
export interface MediaRelay {
  /** Creates the relay's state of a call; sends nothing before its first offer. */
  openCall(): RelayedCall;
  /** Checks whether each relay answers, and logs the result. */
  check(): Promise<void>;
  close(): void;
}

/** The audio of one call at the relay. Commands run one after the other. */
export interface RelayedCall {
  /**
   * Returns the description to give the other side in place of an offer from `side`. Rejects with
   * `Fault('media_relay_unreachable')`.
   */
  offer(side: RelaySide, sdp: string): Promise<string>;
  /** Returns the description to give the offerer in place of an answer from `side`. Rejects like `offer`. */
  answer(side: RelaySide, sdp: string): Promise<string>;
  /** Releases its ports. Idempotent. */
  end(): void;
}

/** What relaying needs. */
export interface MediaRelayDeps {
  /** At least one; calls are distributed among them. */
  readonly relays: readonly NgClient[];
  /** Names of the relay's interfaces towards each side; null if it has a single one. */
  readonly interfaces: Readonly<Record<RelaySide, string>> | null;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
  /**
   * Identifies a call to the relay. Generated here: a Call-ID is chosen by the peer, who could pick that of
   * another call.
   */
  readonly callId: () => string;
}

/** How long a relay that did not answer is tried last. */
const AVOIDED_MS = 10_000;
/**
 * Suites that Parley does not support (telephony/sdes.ts): rtpengine otherwise offers all it supports,
 * including the one without encryption.
 */
const FOREIGN_SUITES = [
  ...[
    'AES_192_CM_HMAC_SHA1_80',
    'AES_192_CM_HMAC_SHA1_32',
    'AES_256_CM_HMAC_SHA1_80',
    'AES_256_CM_HMAC_SHA1_32',
  ],
  ...[
    'F8_128_HMAC_SHA1_80',
    'F8_128_HMAC_SHA1_32',
    'NULL_HMAC_SHA1_80',
    'NULL_HMAC_SHA1_32',
    'AEAD_AES_128_GCM',
    'AEAD_AES_256_GCM',
  ],
];
/**
 * No address other than the relay's: ICE candidates would bypass it. Audio is accepted only from its first
 * source.
 */
const ALWAYS = {
  ICE: 'remove',
  DTLS: 'off',
  SDES: FOREIGN_SUITES.map((suite) => `no-${suite}`),
  replace: ['origin', 'session-connection'],
  flags: ['strict-source'],
} as const;

/** Relays calls through these instances of rtpengine. */
export function createMediaRelay(deps: MediaRelayDeps): MediaRelay {
  const silentAt = new Map<NgClient, number>();
  let turn = 0;

  /** The relays to try for a new call, in order. */
  function inTurn(): NgClient[] {
    const { relays, clock } = deps;
    const start = turn++ % relays.length;
    const order = [...relays.slice(start), ...relays.slice(0, start)];
    const isAvoided = (relay: NgClient) => clock.now() - (silentAt.get(relay) ?? -Infinity) < AVOIDED_MS;
    return [...order.filter((relay) => !isAvoided(relay)), ...order.filter(isAvoided)];
  }

  async function ask(relay: NgClient, command: NgCommand): Promise<string> {
    try {
      const { sdp } = await relay.ask(command);
      silentAt.delete(relay);
      return sdp ?? '';
    } catch (error) {
      if (error instanceof NgSilent) silentAt.set(relay, deps.clock.now());
      const advice =
        error instanceof NgSilent
          ? 'is it running, and does its listen-ng match RTPENGINE?'
          : 'its log says why';
      deps.logger.error(
        { err: error, relay: relay.name, command: command.command },
        `a command to the media relay failed: ${advice}`,
      );
      throw error;
    }
  }

  return {
    openCall: () => relayCall(deps.callId(), { interfaces: deps.interfaces, inTurn, ask }),
    async check() {
      const found = await Promise.allSettled(deps.relays.map((relay) => ask(relay, { command: 'ping' })));
      const there = deps.relays
        .filter((_, index) => found[index]?.status === 'fulfilled')
        .map(({ name }) => name);
      if (there.length > 0)
        deps.logger.info({ relays: there }, 'the audio of phone calls goes through rtpengine');
    },
    close() {
      for (const relay of deps.relays) relay.close();
    },
  };
}

/** The relays one call may use. */
interface RelaysOfCall extends Pick<MediaRelayDeps, 'interfaces'> {
  /** The relays to try for a new call, in order. */
  inTurn(): NgClient[];
  /** Sends a command to a relay and returns the description it answers with; logs and throws a failure. */
  ask(relay: NgClient, command: NgCommand): Promise<string>;
}

/** Relays the audio of one call; `id` names it to the relays. */
function relayCall(id: string, { interfaces, inTurn, ask }: RelaysOfCall): RelayedCall {
  /**
   * The relays that may hold ports for the call: one that did not answer in time may still have carried out
   * the command.
   */
  const tried = new Set<NgClient>();
  let relay: NgClient | null = null;
  let last: Promise<unknown> = Promise.resolve();
  let isOver = false;

  /** Uses the first relay that accepts. */
  async function exchange(relays: readonly NgClient[], command: NgCommand): Promise<string> {
    for (const each of relays) {
      if (isOver) break;
      tried.add(each);
      try {
        const sdp = await ask(each, { ...ALWAYS, 'call-id': id, ...command });
        relay = each;
        return sdp;
      } catch {
        // Logged; the next relay is tried.
      }
    }
    throw fault('media_relay_unreachable');
  }

  /**
   * An offer moves a call to another relay if its own is gone, since both sides get new addresses then. An
   * answer goes to the same relay as its offer.
   */
  function forOffer(): NgClient[] {
    return relay ? [relay, ...inTurn().filter((each) => each !== relay)] : inTurn();
  }

  function afterwards<T>(work: () => Promise<T>): Promise<T> {
    const done = last.then(work);
    last = done.catch(() => undefined);
    return done;
  }

  return {
    offer(side, sdp) {
      const direction = interfaces ? { direction: [interfaces[side], interfaces[other(side)]] } : {};
      return afterwards(() =>
        exchange(forOffer(), { command: 'offer', 'from-tag': side, sdp: ended(sdp), ...direction }),
      );
    },
    answer: (side, sdp) =>
      afterwards(() =>
        exchange(relay ? [relay] : [], {
          command: 'answer',
          'from-tag': other(side),
          'to-tag': side,
          sdp: ended(sdp),
        }),
      ),
    end() {
      if (isOver) return;
      isOver = true;
      // A relay that cannot be reached drops the call itself, some time after its last packet.
      void afterwards(() =>
        Promise.allSettled(
          [...tried].map((each) => each.ask({ command: 'delete', 'call-id': id, 'delete-delay': 0 })),
        ),
      );
    },
  };
}

/** rtpengine appends lines directly after a last line without a line break. */
function ended(sdp: string): string {
  return sdp.endsWith('\n') ? sdp : `${sdp}\r\n`;
}

function other(side: RelaySide): RelaySide {
  return side === 'network' ? 'worker' : 'network';
}
