/**
 * The audio of phone calls through an rtpengine: each session description is exchanged for one that names the
 * relay, so that neither side learns the other's address.
 */
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { fault } from '#config/errors.ts';
import { type NgClient, type NgCommand, NgSilent } from './ng-client.ts';

/** Who wrote a session description: the carrier or phone, or the worker. */
export type RelaySide = 'network' | 'worker';

/** Where phone calls' audio is passed on. */
export interface MediaRelay {
  /** A call of its own; nothing is asked of the relay before its first offer. */
  openCall(): RelayedCall;
  /** Asks each relay whether it is there, and says so in the log. */
  check(): Promise<void>;
  close(): void;
}

/** One call's audio at the relay. What is asked is done one after the other. */
export interface RelayedCall {
  /**
   * What the other side is given instead of an offer by `side`. Rejects with
   * `Fault('media_relay_unreachable')`.
   */
  offer(side: RelaySide, sdp: string): Promise<string>;
  /** What the offerer is given instead of an answer by `side`. Rejects like `offer`. */
  answer(side: RelaySide, sdp: string): Promise<string>;
  /** Gives its ports back. Idempotent. */
  end(): void;
}

/** What relaying needs. */
export interface MediaRelayDeps {
  /** At least one; calls are shared out among them. */
  readonly relays: readonly NgClient[];
  /** Names of the relay's interfaces towards either side; null where it has one for both. */
  readonly interfaces: Readonly<Record<RelaySide, string>> | null;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
  /**
   * Names a call to the relay: of our own making, as a Call-ID is the other side's, who might name another's
   * call.
   */
  readonly callId: () => string;
}

/** One that did not answer is asked last for so long. */
const AVOIDED_MS = 10_000;
/**
 * Suites that nobody here speaks (telephony/sdes.ts): an rtpengine offers all it knows beside ours, the one
 * without encryption included.
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
 * Addresses of nobody but the relay: candidates would lead round it. Only whoever was heard first is heard
 * on.
 */
const ALWAYS = {
  ICE: 'remove',
  DTLS: 'off',
  SDES: FOREIGN_SUITES.map((suite) => `no-${suite}`),
  replace: ['origin', 'session-connection'],
  flags: ['strict-source'],
} as const;

/** Passes calls on through these rtpengines. */
export function createMediaRelay(deps: MediaRelayDeps): MediaRelay {
  const silentAt = new Map<NgClient, number>();
  let turn = 0;

  /** Whom to ask for a new call, in this order. */
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
          ? 'does it run, and is its listen-ng what RTPENGINE names?'
          : 'its log says why';
      deps.logger.error(
        { err: error, relay: relay.name, command: command.command },
        `the media relay did not do what it was asked: ${advice}`,
      );
      throw error;
    }
  }

  function openCall(): RelayedCall {
    const id = deps.callId();
    /** Whoever may have ports for it: one that did not answer in time may have done what it was asked. */
    const asked = new Set<NgClient>();
    let relay: NgClient | null = null;
    let last: Promise<unknown> = Promise.resolve();
    let isOver = false;

    /** By the first that does it. */
    async function exchange(relays: readonly NgClient[], command: NgCommand): Promise<string> {
      for (const each of relays) {
        if (isOver) break;
        asked.add(each);
        try {
          const sdp = await ask(each, { ...ALWAYS, 'call-id': id, ...command });
          relay = each;
          return sdp;
        } catch {
          // Logged; the next one is asked.
        }
      }
      throw fault('media_relay_unreachable');
    }

    /**
     * An offer moves a call to another relay where its own is gone: both sides are told new addresses then.
     * An answer goes where its offer went.
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
        const { interfaces } = deps;
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
        // One that cannot be told forgets the call by itself, some time after the last packet.
        void afterwards(() =>
          Promise.allSettled(
            [...asked].map((each) => each.ask({ command: 'delete', 'call-id': id, 'delete-delay': 0 })),
          ),
        );
      },
    };
  }

  return {
    openCall,
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

/** An rtpengine writes its lines right behind a last one that does not end. */
function ended(sdp: string): string {
  return sdp.endsWith('\n') ? sdp : `${sdp}\r\n`;
}

function other(side: RelaySide): RelaySide {
  return side === 'network' ? 'worker' : 'network';
}
