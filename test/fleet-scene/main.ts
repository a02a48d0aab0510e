/**
 * `npm run scene:fleet`: three machines in network namespaces of their own under phone calls and participants
 * in rooms, and one fault after the other. `-- --only kill-machine,cut-link` runs some of the cases, `--calls
 * 10` and `--participants 2` fewer callers; `--write` puts the rows into the table of the documentation, and
 * `--logs folder` keeps what the parts printed. Needs root, sipp, baresip, redis-server and tcpdump.
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { putBetween, textBetween } from '#scripts/put-between.ts';
import { has } from '#test/needs.ts';
import { CASES } from './cases.ts';
import { runInNamespaces } from './namespaces.ts';
import { preferSurroundings } from './part.ts';
import { type CaseResult, runCase } from './run-case.ts';
import { type Taken, toMarkdown } from './table.ts';
import { missesOf } from './verdict.ts';

const PAGE = 'docs/measuring.md';
const BEGIN = '<!-- fleet scene: written by npm run scene:fleet -- --write -->';
const END = '<!-- end of the fleet scene -->';
const NEEDED = ['sipp', 'baresip', 'redis-server', 'tcpdump', 'bash'];
/** The scene goes without these where they are missing. */
const OPTIONAL = ['kamailio', 'rtpengine', 'livekit-server'];

await runInNamespaces(NEEDED, run);

async function run(): Promise<void> {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      calls: { type: 'string', default: '20' },
      participants: { type: 'string', default: '5' },
      logs: { type: 'string' },
      write: { type: 'boolean', default: false },
    },
  });
  const names = values.only?.split(',') ?? CASES.map(({ name }) => name);
  const cases = names.map((name) => {
    const found = CASES.find((each) => each.name === name);
    if (!found) throw new Error(`no case ${name}; there are ${CASES.map((each) => each.name).join(', ')}`);
    return found;
  });
  preferSurroundings();
  const results: CaseResult[] = [];
  for (const each of cases) {
    console.log(`${each.name}: ${each.title} …`);
    const result = await runCase(each, {
      phones: Number(values.calls),
      participants: Number(values.participants),
      logs: values.logs ?? null,
    });
    results.push(result);
    const misses = missesOf(result);
    console.log(`${misses.length === 0 ? 'met' : 'missed'}: ${each.name}`);
    for (const miss of misses) console.log(`  ${miss}`);
  }
  const taken = takenNow();
  console.log(`\n${toMarkdown(results, taken)}`);
  if (values.write) {
    const table = toMarkdown(results, taken, textBetween(PAGE, BEGIN, END));
    putBetween(PAGE, BEGIN, END, table);
  }
  process.exit(results.every((result) => missesOf(result).length === 0) ? 0 : 1);
}

function takenNow(): Taken {
  const missing = OPTIONAL.filter((program) => !has([program])).map((program) => `no ${program}`);
  return {
    day: new Date().toISOString().slice(0, 10),
    setUp: [`${availableParallelism()} cores`, ...missing].join(', '),
  };
}
