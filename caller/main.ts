/**
 * `npm run caller -- sip:+15550100000@127.0.0.1:5060 --scene bench/scenes/hello.json`: calls any voice agent
 * with a SIP address, plays a scene and prints the measured times. Needs tcpdump and permission to capture.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { toWav } from '#media/speech/audio/wav.ts';
import type { CallRecord } from './caller.ts';
import { startCapture } from './capture.ts';
import { type CallMeasures, measureCall } from './measure.ts';
import { PhoneCaller } from './phone-caller.ts';
import { CALLER_RATE_HZ, readScene } from './scene.ts';
import { quantile } from './statistics.ts';

const USAGE = `usage: npm run caller -- sip:<number>@<host>:<port> --scene <file.json>
  --record <file.wav>     keep what was heard
  --barge-in-wait <ms>    voiced audio after which the agent should fall silent (256)
  --interface <name>      network interface the agent is behind (lo)
  --address <ip>          own address (127.0.0.1)
  --ports <first-last>    own UDP ports (41000-41099)
  --from <number>         own number (+15551230000)
  --user, --password      digest credentials
  --json                  print JSON`;

async function run(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      scene: { type: 'string' },
      record: { type: 'string' },
      'barge-in-wait': { type: 'string', default: '256' },
      interface: { type: 'string', default: 'lo' },
      address: { type: 'string', default: '127.0.0.1' },
      ports: { type: 'string', default: '41000-41099' },
      from: { type: 'string' },
      user: { type: 'string' },
      password: { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  });
  const [target] = positionals;
  const range = /^(\d+)-(\d+)$/.exec(values.ports);
  if (!target || !values.scene || !range) throw new Error(USAGE);
  const ports = { first: Number(range[1]), last: Number(range[2]) };
  const caller = new PhoneCaller({
    ports,
    localAddress: values.address,
    ...(values.from ? { from: values.from } : {}),
    ...(values.user ? { credentials: { username: values.user, password: values.password ?? '' } } : {}),
  });
  const scene = readScene(values.scene);
  if (scene.conditions.codec !== 'pcmu') throw new Error('times are measured in PCMU: leave out the codec');
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  const capture = await startCapture(ports, values.interface);
  const record = await caller.call({ target, scene, signal: stop.signal });
  const measures = measureCall(await capture.stop(), record, {
    bargeInWaitMs: Number(values['barge-in-wait']),
  });
  if (values.record) writeFileSync(values.record, toWav(record.heard, CALLER_RATE_HZ));
  if (values.json)
    console.log(JSON.stringify({ outcome: record.outcome, callId: record.callId, ...measures }));
  else print(target, record, measures);
  if (record.outcome.type !== 'answered') process.exitCode = 1;
}

function print(target: string, { outcome, heard }: CallRecord, measures: CallMeasures): void {
  const say = (name: string, text: string) => console.log(`${name.padEnd(10)} ${text}`);
  if (outcome.type === 'answered')
    say(
      'Call',
      `${target}: answered, ended by the ` +
        `${outcome.endedBy === 'lost' ? 'line (no more packets)' : outcome.endedBy}`,
    );
  else
    say(
      'Call',
      `${target}: ` +
        `${outcome.type === 'refused' ? `refused, ${outcome.status} ${outcome.reason}` : 'cancelled'}`,
    );
  if (outcome.type !== 'answered') return;
  say('Answer', `${ms(measures.inviteToAnswerMs)} from INVITE to 200`);
  say('Greeting', `${ms(measures.answerToGreetingMs)} from 200 to the agent's first voiced packet`);
  for (const { text, replyAfterMs } of measures.turns)
    say('Turn', `${ms(replyAfterMs)} to the reply  “${text}”`);
  for (const { text, stoppedAfterMs } of measures.bargeIns)
    say('Barge-in', `${ms(stoppedAfterMs)} to silence  “${text}”`);
  const { pacing } = measures;
  if (!pacing) return;
  const off = [0.5, 0.99, 0.999].map((q) => quantile(pacing.offGridMs, q).toFixed(2)).join(' / ');
  say(
    'Pacing',
    `${pacing.packets} packets, ${pacing.lost} lost; off the grid p50 / p99 / p99.9 ${off} ms, longest ` +
      `gap ${pacing.longestGapMs.toFixed(1)} ms`,
  );
  say('Heard', `${(heard.length / CALLER_RATE_HZ).toFixed(1)} s`);
}

function ms(value: number | null): string {
  return value === null ? '      –   ' : `${value.toFixed(1).padStart(7)} ms`;
}

run().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(2);
});
