/**
 * Journey: a phone behind a network that loses 5 % of the packets in both directions, sometimes two in a row,
 * delays each by up to 60 ms, which reorders them, and duplicates some. The product's recogniser understands
 * every word, as without that network; the agent's speech remains intelligible; and the session reports the
 * network quality. test/media/rtp/rough-network.test.ts measures each codec packet by packet, on a simulated
 * clock.
 */
import { beforeAll, expect } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { openLossyPath } from '#test/fakes/lossy-path.ts';
import { describeNeeds, itNeeds } from '#test/needs.ts';
import { transcribe } from './ear.ts';
import { callLive } from './live-phone.ts';
import { record } from './microphone.ts';
import type { Product } from './product.ts';
import { agentAt } from './tenant.ts';

const NEEDED = ['pocketsphinx_continuous'];
const CLEAN = { lossShare: 0, jitterMs: 0, duplicateShare: 0, seed: 1 };
const ROUGH: typeof CLEAN = { lossShare: 0.05, jitterMs: 60, duplicateShare: 0.02, seed: 1 };
const PHONE_RATE_HZ = 8_000;
const NUMBER = '+15550100021';
/** The caller's lines and the demo agent's answers. */
const TALK = [
  { line: 'what are your opening hours', answer: 'we are open every day from noon until ten in the evening' },
  { line: 'good morning how are you today', answer: 'hello how can i help you' },
  { line: 'i would like to book a table', answer: 'gladly for how many people' },
  { line: 'thank you very much for your help', answer: 'you are welcome is there anything else' },
] as const;
/**
 * Alternatives that the recogniser of either side may choose when words are lost: first for the caller's
 * lines, then for the answers.
 */
const OTHER_LINES = [
  'what are your closing hours',
  'good evening who is there today',
  'i would like to cancel a table',
  'thank you very little for your time',
];
const ANSWERS = [
  ...TALK.map(({ answer }) => answer),
  'we are closed every day from noon until five in the evening',
  'would you like to book a table',
  'a table for how many people',
  'thank you for calling goodbye',
];
/** The line is open for a while before anyone speaks, which is enough to measure the delay it needs. */
const OPEN_SECONDS = 1.5;
/** Pause after each line and each answer. */
const PAUSE_SECONDS = 0.5;
const ANSWER_MS = 20_000;
/**
 * A busy machine damages words without any network loss. Damage during a standstill of this length proves
 * nothing, and the line is repeated; any other damage is the product's fault.
 */
const STANDSTILL_MS = 60;
const SAID_TIMES = 4;

/** Result of one line. */
interface Exchange {
  readonly recognised: readonly string[];
  readonly understood: readonly string[];
}

interface Called {
  /** By line; null if the machine stalled at every damaged attempt. */
  readonly exchanges: readonly (Exchange | null)[];
  readonly quality: {
    readonly packets_received: number;
    readonly packets_lost: number;
    readonly jitter_ms: number;
    readonly mos: number;
  };
}

let product: Product;
let clean: Called;
let rough: Called;

/** Describes it on a shared product. */
export function describeRoughNetwork(stage: { readonly product: Product }): void {
  describeNeeds(NEEDED)('a phone behind a rough network', () => {
    beforeAll(async () => {
      product = stage.product;
      await agentAt(product, NUMBER, {
        prompt: { first_message_mode: 'off' },
        asr: { keyterms: [...TALK.map(({ line }) => line), ...OTHER_LINES] },
      });
      // Run in parallel, because most of a call is waiting.
      [clean, rough] = await Promise.all([call('+15557650020', CLEAN), call('+15557650021', ROUGH)]);
    }, 600_000);

    for (const [n, { line, answer }] of TALK.entries())
      itNeeds(NEEDED)(
        `is understood, and understands the agent, as on a perfect network: "${line}"`,
        (test) => {
          for (const { exchanges } of [clean, rough]) {
            const exchange =
              exchanges[n] ??
              test.skip(`the machine stood still for ${STANDSTILL_MS} ms whenever this was broken`);
            expect(exchange.recognised).toEqual([line]);
            expect(exchange.understood).toContain(answer);
          }
        },
      );

    itNeeds(NEEDED)('has a session that reports the losses and the jitter', () => {
      expect(clean.quality.packets_lost).toBe(0);
      expect(
        rough.quality.packets_lost / (rough.quality.packets_received + rough.quality.packets_lost),
      ).toBeGreaterThan(0.02);
      expect(rough.quality.jitter_ms).toBeGreaterThan(clean.quality.jitter_ms);
      expect(rough.quality.mos).toBeLessThan(clean.quality.mos);
    });
  });
}

/** Speaks every line and listens to the whole answer. */
async function call(from: string, network: typeof CLEAN): Promise<Called> {
  const path = await openLossyPath(network);
  const phone = await callLive(product.sipAddress(NUMBER), from, path);
  const find = async () =>
    (await product.ask('GET', `/v1/agent/sessions?caller_number=${encodeURIComponent(from)}`)).sessions[0];
  await product.until('there is a session', async () => (await find()) !== undefined);
  const { session_id: sessionId } = await find();
  const read = () => product.ask('GET', `/v1/agent/sessions/${sessionId}`);
  const wordsOf = async (role: string): Promise<string[]> =>
    (await read()).items.flatMap((item: { role: string; content: string }) =>
      item.role === role ? [item.content] : [],
    );

  const exchange = async ({ line, answer }: (typeof TALK)[number]): Promise<Exchange | null> => {
    for (let times = 0; times < SAID_TIMES; times++) {
      const [before, answersBefore, sinceMs] = [
        await wordsOf('user'),
        await wordsOf('assistant'),
        systemClock.now(),
      ];
      path.takeStandstillMs();
      await phone.speak(record([line, PAUSE_SECONDS], PHONE_RATE_HZ));
      // Any recognised words are answered; a missing answer is detected below.
      await product
        .until(
          'it is answered',
          async () => (await wordsOf('assistant')).length > answersBefore.length,
          ANSWER_MS,
        )
        .catch(() => undefined);
      await phone.speak(record([PAUSE_SECONDS], PHONE_RATE_HZ));
      const standstillMs = path.takeStandstillMs();
      const recognised = (await wordsOf('user')).slice(before.length);
      const understood = await transcribe(phone.audioSince(sinceMs), ANSWERS);
      const isWhole = recognised.join() === line && understood.includes(answer);
      if (isWhole || standstillMs < STANDSTILL_MS) return { recognised, understood };
    }
    return null;
  };

  await phone.speak(record([OPEN_SECONDS], PHONE_RATE_HZ));
  const exchanges: (Exchange | null)[] = [];
  for (const said of TALK) exchanges.push(await exchange(said));
  await phone.hangUp();
  path.close();
  await product.until('the session is completed', async () => (await read()).status === 'completed');
  return { exchanges, quality: (await read()).media_quality };
}
