/**
 * `npm run docs:hindsight`: makes real phone calls to two versions of an agent, lets every command of
 * docs/hindsight.md look back at them, and puts what they print into the page. Needs pocketsphinx.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PhoneCaller } from '#caller/phone-caller.ts';
import { prepareScene, type SceneFile } from '#caller/scene.ts';
import { KEYS_PATH } from '#protocol/call-file.ts';
import { runParley } from '#test/command-line.ts';
import { type Product, startProduct } from '#test/journeys/product.ts';
import { putBetween } from '../../scripts/put-between.ts';

const PAGE = 'docs/hindsight.md';
const AGENT = 'Front desk';
const NUMBER = '+15550100077';
const CALLS = 20;
/** Calls at a time. */
const LANES = 2;
const PORTS = { first: 29_000, last: 29_007 };
/** Every third caller hesitates within a sentence. */
const HESITANT_EVERY = 3;

const listen = { do: 'listen', quiet_ms: 700, timeout_ms: 15_000 } as const;
const PLAIN: SceneFile['steps'] = [listen, { do: 'say', text: 'What are your opening hours?' }, listen];
const HESITANT: SceneFile['steps'] = [
  listen,
  { do: 'say', text: 'I would like to book a table.', is_unfinished: true },
  { do: 'pause', ms: [1_700, 1_900] },
  { do: 'say', text: 'For two people tomorrow evening.' },
  listen,
];

const folder = mkdtempSync(join(tmpdir(), 'parley-hindsight-'));
const product = await startProduct({ environment: { LOG_LEVEL: 'error', STARTING_CREDIT: '100.00' } });
try {
  await tell();
} finally {
  await product.close();
  rmSync(folder, { recursive: true, force: true });
}

async function tell(): Promise<void> {
  const ask: Product['ask'] = (method, path, body) => product.ask(method, path, body);
  const { agent_id: agentId } = await ask('POST', '/v1/agent/agents', {
    name: AGENT,
    config: { prompt: { first_message_mode: 'fixed', first_message: 'Front desk, hello.' } },
  });
  const agent = `/v1/agent/agents/${agentId}`;
  const patient = { conversation: { response_wait_ms: 2_000, eagerness: 'balanced' } };
  await ask('PATCH', `${agent}/config`, patient);
  await ask('POST', `${agent}/publish`, { version_title: 'patient' });
  await ask('PATCH', `${agent}/config`, { conversation: { response_wait_ms: 300, eagerness: 'eager' } });
  await ask('POST', `${agent}/publish`, { version_title: 'quicker answers' });
  const number = { provider: 'managed', phone_number: NUMBER, agent_id: agentId };
  await ask('POST', '/v1/agent/phone-numbers', number);
  await placeCalls();
  const bad = await findCutOff(agentId);
  await show('bisect', `bisect ${bad} --measure cut-off`);
  await ask('PATCH', `${agent}/config`, patient);
  await show('rehearse', `rehearse "${AGENT}" --days 1`);
  await show('make-test', `make-test ${bad} -o cut-off.json`);
  await show('fails', `test "${AGENT}" --voice cut-off.json --against 2`);
  await show('passes', `test "${AGENT}" --voice cut-off.json`);
  await show('share', `share "${AGENT}" --percent 10`);
  await show('export', `export-call ${bad} -o call.html`);
  const keys = await fetch(product.url + KEYS_PATH);
  writeFileSync(join(folder, 'keys.json'), await keys.text());
  await show('verify', 'verify-call call.html --keys keys.json');
  await show('scorecard', `scorecard "${AGENT}"`);
}

async function placeCalls(): Promise<void> {
  const waiting = Array.from({ length: CALLS }, (_, index) => index);
  const target = product.sipAddress(NUMBER);
  const caller = new PhoneCaller({ ports: PORTS });
  const lane = async () => {
    for (let index = waiting.shift(); index !== undefined; index = waiting.shift()) {
      const steps = index % HESITANT_EVERY === 0 ? HESITANT : PLAIN;
      const scene = prepareScene({ name: `call ${index}`, seed: index + 1, steps });
      const { outcome } = await caller.call({ target, scene });
      if (outcome.type !== 'answered') throw new Error(`a call was not answered: ${JSON.stringify(outcome)}`);
      console.log(`call ${index + 1} of ${CALLS}`);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}

/** The id of a session in which a caller was cut off. */
async function findCutOff(agentId: string): Promise<string> {
  const path = `/v1/agent/sessions?agent_id=${agentId}&status=completed&page_size=100`;
  await product.until(
    'all calls are over',
    async () => (await product.ask('GET', path)).sessions.length === CALLS,
  );
  for (const { session_id: id } of (await product.ask('GET', path)).sessions) {
    const { code } = await parley(['bisect', id, '--measure', 'cut-off']);
    if (code === 0) return id;
  }
  throw new Error('no caller was cut off');
}

/** Puts a command and its output into the page. */
async function show(marker: string, command: string): Promise<void> {
  const args = [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
  const { out, err } = await parley(args);
  console.log(`$ parley ${command}\n${out}${err}`);
  const text = `$ parley ${command}\n${out}`.replaceAll(product.url, 'https://parley.example.com');
  putBetween(
    PAGE,
    `<!-- ${marker} -->`,
    `<!-- end of ${marker} -->`,
    `\n\`\`\`\n${text.trimEnd()}\n\`\`\`\n`,
  );
}

function parley(args: readonly string[]) {
  const environment = { PARLEY_URL: product.url, PARLEY_API_KEY: product.rootKey };
  return runParley(args, { folder, environment });
}
