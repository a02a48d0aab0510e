/** `npm run fuzz:sip -- [--runs 100000] [--seed n]`: mutated SIP, SDP and RTP against the signalling and a media session; prints what came back and what memory did. */
import { parseArgs } from 'node:util';
import { fuzzDescriptions, fuzzRtp } from './fuzz-media.ts';
import { fuzzSip } from './fuzz-sip.ts';

const { values } = parseArgs({ options: { runs: { type: 'string', default: '100000' }, seed: { type: 'string' } } });
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
const runs = Number(values.runs);
const MB = 1 << 20;
console.log(`seed ${seed}, ${runs} messages`);
// Six of ten are SIP, the rest session descriptions and datagrams of media.
const { statuses, heap, calls, metrics } = await fuzzSip({ seed, runs: Math.round(runs * 0.6) });
console.log(
  `SIP: ${[...statuses]
    .sort(([a], [b]) => a - b)
    .map(([status, count]) => `${status}: ${count}`)
    .join(', ')}; ${calls} calls reached the worker`,
);
console.log(JSON.stringify(metrics));
console.log(`heap after a fifth ${(heap.early / MB).toFixed(1)} MB, at the end ${(heap.late / MB).toFixed(1)} MB`);
const { answered } = fuzzDescriptions({ seed, runs: Math.round(runs * 0.2) });
console.log(`SDP: ${answered} of ${Math.round(runs * 0.2)} answered, the rest refused`);
await fuzzRtp({ seed, runs: Math.round(runs * 0.2) });
console.log(`RTP: ${Math.round(runs * 0.2)} datagrams, and the call goes on`);
