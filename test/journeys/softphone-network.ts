/**
 * Runs in a network namespace of its own, as `node softphone-network.ts <address> …`: a machine whose card
 * has these addresses. Starts the product with its defaults, calls it with each installed softphone by the
 * line it prints, and prints what both sides heard as one line of JSON.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { voicedSeconds } from '#caller/voiced.ts';
import { has } from '#test/needs.ts';
import { recordWav } from './microphone.ts';
import { type Product, startProduct } from './product.ts';
import {
  callWithStockBaresip,
  callWithStockLinphone,
  type PhoneCall,
  type PhoneResult,
} from './stock-phones.ts';

/** What one call showed. */
export interface SoftphoneCall {
  /** Address of the card that the phone named. */
  readonly address: string;
  /** Voice of the agent that the phone heard, seconds. */
  readonly heardSeconds: number;
  readonly packetsReceived: number;
  /** The call was reported as unheard, at any time. */
  readonly isUnheard: boolean;
  readonly items: readonly string[];
}

const MICROPHONE = [11, 'What are your opening hours?', 14] as const;
const CALL_SECONDS = 32;

const PHONES = {
  baresip: { program: 'baresip', from: 'me', call: callWithStockBaresip },
  Linphone: { program: 'linphonec', from: 'linphone', call: callWithStockLinphone },
} as const;

/** A card, and a far end that makes the kernel use it. */
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
  call: Omit<PhoneCall, 'line' | 'home'>,
): Promise<SoftphoneCall> {
  const phone = PHONES[name];
  const line = new RegExp(`^${name} +(.+)$`, 'm').exec(product.log)?.[1];
  if (line === undefined) throw new Error(`the start prints no line for ${name}`);
  const home = mkdtempSync(join(tmpdir(), 'softphone-'));
  let result: PhoneResult;
  try {
    result = await phone.call({ ...call, line, home });
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
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

plugIn(process.argv.slice(2));
const microphone = join(mkdtempSync(join(tmpdir(), 'microphone-')), 'microphone.wav');
writeFileSync(microphone, recordWav(MICROPHONE, 8_000));
const product = await startProduct({ environment: { PORT: '8080', SIP_PORT: '5060' } });
try {
  const names = (['baresip', 'Linphone'] as const).filter((name) => has([PHONES[name].program]));
  const calls = await Promise.all(
    names.map(
      async (name) => [name, await place(product, name, { microphone, seconds: CALL_SECONDS })] as const,
    ),
  );
  console.log(`calls ${JSON.stringify(Object.fromEntries(calls))}`);
} finally {
  await product.close();
  rmSync(join(microphone, '..'), { recursive: true, force: true });
}
