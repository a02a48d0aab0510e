/**
 * `npm run bench:media-streams`: the neutral caller's figures through a media stream of Twilio beside those
 * of SIP, from the same scenes and on the same clock, that of the caller's process. `-- 10` makes ten calls
 * at once each way.
 */
import { PhoneCaller } from '#caller/phone-caller.ts';
import { prepareScene } from '#caller/scene.ts';
import { quantile } from '#caller/statistics.ts';
import { callOverStream } from '#caller/stream-caller.ts';
import type { Timeline } from '#protocol/audible-timeline.ts';
import { startTwilioServer, TWILIO_ACCOUNT } from '#test/fakes/twilio-server.ts';
import { type Product, startProduct } from '#test/journeys/product.ts';
import { createMeasuredAgent, questionsScene, RESPONSE_WAIT_MS } from './call-load.ts';
import { startStandIns } from './stand-ins.ts';

const SIP_NUMBER = '+15550100044';
const STREAM_NUMBER = '+14155550144';
const PORTS = { first: 43_400, last: 43_599 };
const DEFAULT_CALLS = 5;
const TURNS = 4;

/** Waits of a call's caller, ms. */
interface Waits {
  /** From the end of a question to the answer, without the configured wait. */
  readonly replies: readonly number[];
  /** From the first sound of an interruption until the agent is silent. */
  readonly silences: readonly number[];
}

function waitsOf({ agent, lines }: Timeline): Waits {
  const replies = lines
    .filter(({ lastMs }, index) => {
      const next = lines[index + 1];
      return !next || next.firstMs > lastMs;
    })
    .flatMap(({ lastMs }) => {
      const answer = agent.find(({ firstMs }) => firstMs > lastMs);
      return answer ? [answer.firstMs - lastMs - RESPONSE_WAIT_MS] : [];
    });
  const silences = lines
    .filter(({ means }) => means === 'interruption')
    .flatMap((line) => {
      const cut = agent.find(({ firstMs, lastMs }) => firstMs < line.firstMs && lastMs > line.firstMs);
      return cut ? [cut.lastMs - line.firstMs] : [];
    });
  return { replies, silences };
}

async function callAll(calls: number, call: (index: number) => Promise<Timeline>): Promise<Waits> {
  // The first call of a process loads and compiles, so it is not measured.
  await call(calls);
  const timelines = await Promise.all(Array.from({ length: calls }, (_, index) => call(index)));
  const waits = timelines.map(waitsOf);
  return {
    replies: waits.flatMap(({ replies }) => replies),
    silences: waits.flatMap(({ silences }) => silences),
  };
}

async function measure(product: Product, calls: number): Promise<ReadonlyMap<string, Waits>> {
  const agentId = await createMeasuredAgent(product, SIP_NUMBER);
  const { media_stream } = await product.ask('POST', '/v1/agent/phone-numbers/connect-twilio', {
    account_sid: TWILIO_ACCOUNT.accountSid,
    auth_token: TWILIO_ACCOUNT.authToken,
    phone_number: STREAM_NUMBER,
    agent_id: agentId,
  });
  const sceneOf = (index: number) => prepareScene(questionsScene(index, TURNS));
  const phone = new PhoneCaller({ ports: PORTS });
  const bySip = await callAll(calls, async (index) => {
    const call = { target: product.sipAddress(SIP_NUMBER), scene: sceneOf(index) };
    return (await phone.call(call)).timeline;
  });
  const { accountSid: account, authToken: secret } = TWILIO_ACCOUNT;
  const byStream = await callAll(calls, (index) => {
    const from = `+1555766${String(1_000 + index)}`;
    const where = { voiceUrl: media_stream.voice_url, at: product.url, from, to: STREAM_NUMBER };
    return callOverStream({ vendor: 'twilio', account, secret, ...where }, sceneOf(index));
  });
  return new Map([
    ['SIP and RTP', bySip],
    ['media stream', byStream],
  ]);
}

function row(values: readonly number[]): string {
  const [middle, most] = [quantile(values, 0.5), quantile(values, 0.95)];
  return `p50 ${middle.toFixed(0)} · p95 ${most.toFixed(0)} ms (${values.length})`;
}

const calls = Number(process.argv[2] ?? DEFAULT_CALLS);
if (!(Number.isInteger(calls) && calls >= 1 && calls <= 50))
  throw new Error('name how many calls at once, 1 to 50');
const [standIns, twilio] = [await startStandIns(), await startTwilioServer()];
twilio.owned.push({ sid: `PN${'1'.repeat(32)}`, phone_number: STREAM_NUMBER, voice_url: '' });
const product = await startProduct({
  environment: {
    ...standIns.environment,
    TWILIO_BASE_URL: twilio.url,
    STARTING_CREDIT: '1000000.00',
    LOG_LEVEL: 'warn',
  },
});
try {
  for (const [way, { replies, silences }] of await measure(product, calls)) {
    console.log(`${way}, ${calls} calls at once`);
    console.log(`  added to a reply      ${row(replies)}`);
    console.log(`  interrupted to silent ${row(silences)}`);
  }
} finally {
  await product.close();
  await twilio.close();
  await standIns.close();
}
