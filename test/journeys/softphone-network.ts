/**
 * The first process of a machine of its own, as `node softphone-network.ts start|page <address> …`: its
 * network interface has these addresses. Starts the product with its defaults, calls it with each installed
 * softphone by the line printed at start or the line of the page, and prints the product's log and, as one
 * line of JSON, what both sides heard.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { voicedSeconds } from '#caller/voiced.ts';
import { has } from '#test/needs.ts';
import { QUESTION, recordWav } from './microphone.ts';
import { type Product, startProduct } from './product.ts';
import {
  callWithStockBaresip,
  callWithStockLinphone,
  linesOfPage,
  linesOfStart,
  type PhoneCall,
  type SoftphoneLines,
} from './stock-phones.ts';

/** What one call showed. */
export interface SoftphoneCall {
  /** Address of the network interface that the phone named. */
  readonly address: string;
  /** Voice of the agent that the phone heard, seconds. */
  readonly heardSeconds: number;
  readonly packetsReceived: number;
  /** The call was reported as unheard, at any time. */
  readonly isUnheard: boolean;
  readonly items: readonly string[];
}

/** A call that could not be placed or did not end. */
export interface FailedCall {
  readonly failure: string;
}

/** Asked twice, because a recording stutters on a busy machine, and a recogniser mishears. */
const MICROPHONE = [11, QUESTION, 9, QUESTION, 5] as const;
const CALL_SECONDS = 32;

const PHONES = {
  baresip: { program: 'baresip', from: 'me', call: callWithStockBaresip },
  Linphone: { program: 'linphonec', from: 'linphone', call: callWithStockLinphone },
} as const;

/** A network interface, and a far end that makes the kernel use it. */
function plugIn(addresses: readonly string[]): void {
  const ip = (...words: string[]) => execFileSync('ip', words);
  ip('link', 'set', 'lo', 'up');
  ip('link', 'add', 'card0', 'type', 'veth', 'peer', 'name', 'far0');
  for (const address of addresses) ip('addr', 'add', `${address}/24`, 'dev', 'card0');
  for (const name of ['card0', 'far0']) ip('link', 'set', name, 'up');
  ip('route', 'add', 'default', 'dev', 'card0', 'src', addresses[0] ?? '');
}

async function place(
  product: Product,
  name: keyof typeof PHONES,
  call: Omit<PhoneCall, 'home'>,
): Promise<SoftphoneCall> {
  const phone = PHONES[name];
  const home = mkdtempSync(join(tmpdir(), 'home-'));
  const result = await phone.call({ ...call, home });
  const find = async () => {
    const { sessions } = await product.ask('GET', '/v1/agent/sessions?status=completed');
    return sessions.find((item: { caller_number: string }) => item.caller_number === phone.from);
  };
  await product.until(`the call of ${name} is over`, async () => (await find()) !== undefined);
  const session = await product.ask('GET', `/v1/agent/sessions/${(await find()).session_id}`);
  return {
    address: result.address,
    heardSeconds: voicedSeconds(result.heard.samples, result.heard.rateHz),
    packetsReceived: session.media_quality.packets_received,
    isUnheard: session.media_quality.unheard !== undefined || product.log.includes('nothing heard on'),
    items: session.items.map(({ role, content }: { role: string; content: string }) => `${role}: ${content}`),
  };
}

async function placeAll(product: Product, lines: SoftphoneLines) {
  const microphone = join(mkdtempSync(join(tmpdir(), 'microphone-')), 'microphone.wav');
  writeFileSync(microphone, recordWav(MICROPHONE, 8_000));
  const names = (['baresip', 'Linphone'] as const).filter((name) => has([PHONES[name].program]));
  const calls = await Promise.allSettled(
    names.map(async (name) => {
      const line = lines[name];
      if (line === undefined) throw new Error(`there is no line for ${name}`);
      return await place(product, name, { line, microphone, seconds: CALL_SECONDS });
    }),
  );
  const results = calls.map((call): SoftphoneCall | FailedCall =>
    call.status === 'fulfilled' ? call.value : { failure: String(call.reason) },
  );
  return Object.fromEntries(names.map((name, index) => [name, results[index]]));
}

// The test has ended, or was interrupted. The machine ends with this process.
process.stdin.on('end', () => process.exit(1)).resume();
const [source, ...addresses] = process.argv.slice(2);
plugIn(addresses);
const product = await startProduct({ environment: { PORT: '8080', SIP_PORT: '5060' } });
try {
  const lines =
    source === 'page'
      ? linesOfPage('docs/phone-calls.md', 'Try it with a softphone')
      : linesOfStart(product.log);
  const calls = await placeAll(product, lines);
  console.log(`calls ${JSON.stringify(calls)}`);
} finally {
  console.log(product.log);
}
process.exit();
