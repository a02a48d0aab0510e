/**
 * `npm run fuzz:sip -- [--count 100000] [--seed n]`: sends this many mutated SIP, SDP and RTP inputs each to
 * the signalling and a media session; prints the results and the memory use.
 */
import { parseArgs } from 'node:util';
import { fuzzDescriptions, fuzzRtp } from './fuzz-media.ts';
import { fuzzSip } from './fuzz-sip.ts';
import type { HeapUse } from './heap.ts';

const { values } = parseArgs({
  options: { count: { type: 'string', default: '100000' }, seed: { type: 'string' } },
});
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
const runs = Number(values.count);
const MB = 1 << 20;
console.log(`seed ${seed}, ${runs} inputs of each kind`);
const { statuses, heap, calls, metrics } = await fuzzSip({ seed, runs });
const byStatus = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`);
console.log(`SIP: ${byStatus.join(', ')}; ${calls} calls reached the worker; ${memory(heap)}`);
console.log(JSON.stringify(metrics));
const descriptions = await fuzzDescriptions({ seed, runs });
console.log(
  `SDP: ${descriptions.answered} of ${runs} answered, the rest refused; ${memory(descriptions.heap)}`,
);
const rtp = await fuzzRtp({ seed, runs });
console.log(`RTP: ${runs} datagrams, and the call continues; ${memory(rtp.heap)}`);

function memory({ early, late }: HeapUse): string {
  return `heap after a fifth ${(early / MB).toFixed(1)} MB, at the end ${(late / MB).toFixed(1)} MB`;
}
