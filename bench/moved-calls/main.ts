/**
 * `npm run bench:moved-calls`: twenty phone calls on one of two workers of a machine. In one case that worker
 * is drained while agents are in mid-sentence, in the other it is killed. Everything is read from a packet
 * capture at the callers. `-- --calls 5` makes fewer calls, `--only drain` runs one case, `--runs 3` repeats
 * each; `--write` puts the rows into the documentation. Needs tcpdump and flite.
 */
import { parseArgs } from 'node:util';
import type { CallRecord } from '#caller/caller.ts';
import { startCapture } from '#caller/capture.ts';
import type { CapturedDatagram } from '#caller/pcap.ts';
import { PhoneCaller } from '#caller/phone-caller.ts';
import { prepareScene } from '#caller/scene.ts';
import { putBetween } from '#scripts/put-between.ts';
import { Parts } from '#test/journeys/parts.ts';
import type { Program } from '#test/journeys/program.ts';
import { engineSettings, startEngineProcess } from '../engine-process.ts';
import { SENTENCE, SENTENCE_WORDS } from './counting-voice.ts';
import { agentStreamOf, longestGapMs } from './stream.ts';
import { type Move, toMarkdown } from './table.ts';

const PAGE = 'docs/measuring.md';
const BEGIN = '<!-- moved calls: written by npm run bench:moved-calls -- --write -->';
const END = '<!-- end of the moved calls -->';
const NUMBER = '+15550100078';
const PORTS = { first: 42_400, last: 42_599 };
const STAGGER_MS = 100;
/** The worker is struck this long after the next one is ready. */
const TALK_MS = 1_000;
/** Callers hang up once the last call has moved, and the agent has had time for another reply. */
const [MOVED_WITHIN_MS, TALK_ON_MS, PATIENCE_MS] = [60_000, 12_000, 25_000];
/** More than a call can hold. */
const TURNS = 30;

/** The signal that the worker with the calls gets, by case. */
const CASES = {
  drain: 'SIGTERM',
  kill: 'SIGKILL',
} as const;
type CaseName = keyof typeof CASES;

/** The parts with one worker, and one that is started when the calls are there. */
async function openParts(engines: Readonly<Record<string, string>>): Promise<[Parts, Program]> {
  const parts = await Parts.open({
    ...engines,
    STARTING_CREDIT: '1000.00',
    RTP_PORT_MIN: '39600',
    RTP_PORT_MAX: '39999',
  });
  const [, , worker] = await Promise.all([
    parts.start('control-plane', 'control-plane'),
    parts.start('signalling', 'signalling'),
    parts.start('worker', 'workers'),
  ]);
  const { agent_id: agentId } = await parts.ask('POST', '/v1/agent/agents', {
    name: 'Counts',
    config: {
      prompt: { system_prompt: 'You count.', first_message_mode: 'fixed', first_message: SENTENCE },
      conversation: { response_wait_ms: 300 },
    },
  });
  await parts.ask('POST', `/v1/agent/agents/${agentId}/publish`, {});
  const binding = { provider: 'managed', phone_number: NUMBER, agent_id: agentId };
  await parts.ask('POST', '/v1/agent/phone-numbers', binding);
  return [parts, worker];
}

async function runCase(
  name: CaseName,
  calls: number,
  engines: Readonly<Record<string, string>>,
): Promise<Move[]> {
  const [parts, worker] = await openParts(engines);
  const capture = await startCapture(PORTS);
  try {
    const caller = new PhoneCaller({ ports: PORTS });
    const target = parts.sipAddress(NUMBER);
    const hook = new AbortController();
    const calling: Promise<CallRecord>[] = [];
    for (let index = 0; index < calls; index++) {
      calling.push(caller.call({ target, scene: sceneOf(index), signal: hook.signal }));
      await new Promise((resolve) => setTimeout(resolve, STAGGER_MS));
    }
    const isActive = async () =>
      (await parts.ask('GET', '/v1/agent/sessions?status=active&page_size=100')).sessions.length === calls;
    await parts.until('the calls are active', isActive);
    // In the DATA_DIR of the first, as a second `npm run start:worker` in the same folder.
    await parts.start('worker', 'workers', { settings: { RTP_PORT_MIN: '40000', RTP_PORT_MAX: '40399' } });
    await new Promise((resolve) => setTimeout(resolve, TALK_MS));
    const struckMs = Date.now();
    worker.signal(CASES[name]);
    await untilMoved(parts, calls);
    await new Promise((resolve) => setTimeout(resolve, TALK_ON_MS));
    hook.abort();
    const records = await Promise.all(calling);
    const datagrams = await capture.stop();
    return records.map((record) => moveOf(datagrams, record, struckMs));
  } finally {
    await parts.close();
  }
}

/** Returns in any case: the capture shows which calls were not moved. */
async function untilMoved(parts: Parts, calls: number): Promise<void> {
  const hasMoved = async () => {
    const { sessions } = await parts.ask('GET', '/v1/agent/sessions?status=active&page_size=100');
    const paths = sessions.map(({ session_id: id }: { session_id: string }) => `/v1/agent/sessions/${id}`);
    const found = await Promise.all(paths.map((path: string) => parts.ask('GET', path)));
    return found.filter(({ takeovers }) => takeovers.length > 0).length === calls;
  };
  await parts.until('the calls have moved', hasMoved, MOVED_WITHIN_MS).catch(() => undefined);
}

/** Asks whenever the agent has said its sentence. */
function sceneOf(index: number) {
  const listen = { do: 'listen', quiet_ms: 700, timeout_ms: PATIENCE_MS } as const;
  const ask = { do: 'say', text: 'What is the weather like today?' } as const;
  const turns = Array.from({ length: TURNS }, () => [ask, listen] as const);
  return prepareScene({ name: `call ${index}`, seed: 1 + index, steps: [listen, ...turns.flat()] });
}

function moveOf(datagrams: readonly CapturedDatagram[], record: CallRecord, struckMs: number): Move {
  const stream = agentStreamOf(datagrams, record.ports.media);
  const isSpeaking = stream.voicedAtMs.some((atMs) => Math.abs(atMs - struckMs) < 100);
  const again = stream.voicedAtMs.find((atMs) => atMs > struckMs + 40);
  const wrong = stream.words.findIndex(
    (word, index) => word !== SENTENCE_WORDS[index % SENTENCE_WORDS.length],
  );
  const said = stream.words.slice(Math.max(0, wrong - 3), wrong + 4).join(' ');
  if (wrong >= 0) console.log(`  port ${record.ports.media} heard: … ${said} …`);
  return {
    isMoved: stream.fromPorts.length > 1,
    isSpeaking,
    gapMs: longestGapMs(stream, struckMs),
    seamMs: Math.max(...stream.seamsMs),
    againMs: (again ?? Number.POSITIVE_INFINITY) - struckMs,
    hasOneSource: stream.ssrcs === 1,
    lost: stream.lost,
    repeated: stream.repeated,
    timestampLeaps: stream.timestampLeaps,
    isWordForWord: wrong < 0,
    isWhole: record.outcome.type === 'answered' && record.outcome.endedBy === 'caller',
  };
}

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '20' },
    only: { type: 'string' },
    runs: { type: 'string', default: '1' },
    write: { type: 'boolean', default: false },
  },
});
const names = (Object.keys(CASES) as CaseName[]).filter(
  (name) => values.only === undefined || values.only === name,
);
const engines = await startEngineProcess(new URL('./stand-ins-process.ts', import.meta.url));
const moves: Record<CaseName, Move[]> = { drain: [], kill: [] };
try {
  for (const name of names)
    for (let run = 0; run < Number(values.runs); run++)
      moves[name].push(...(await runCase(name, Number(values.calls), engineSettings(engines.urls))));
} finally {
  await engines.close();
}
const table = toMarkdown(moves);
console.log(table.text);
if (values.write) putBetween(PAGE, BEGIN, END, table.text);
process.exit(table.isMet ? 0 : 1);
