/**
 * `npm run bench:web-calls`: what calls from browsers and calls in LiveKit rooms cost, five of each at the
 * same time. `-- --direct` and `-- --room` make one kind only, `-- 1` makes another number of calls. With
 * `--profile`, which is of one kind, threads and kinds of work are shown.
 */
import { parseArgs } from 'node:util';
import { startLivekitServer } from '#test/fakes/livekit-server.ts';
import { startProduct } from '#test/journeys/product.ts';
import { createMeasuredAgent } from './call-load.ts';
import { PROFILED, profileCalls, profileText } from './cpu-profile.ts';
import { type Figure, toText } from './figures.ts';
import { threadsText, watchThreads } from './load-cpu.ts';
import { startStandIns } from './stand-ins.ts';
import { runWebLoad, type WebWay, webFigure } from './web-load.ts';

const NUMBER = '+15550100043';
const DEFAULT_CALLS = 5;
/** Four questions and two interruptions take half a minute. */
const TURNS = 4;

async function measure(way: WebWay, calls: number, isProfiled: boolean): Promise<Figure> {
  const standIns = await startStandIns();
  const server = way === 'room' ? await startLivekitServer() : null;
  try {
    const product = await startProduct({
      environment: {
        ...standIns.environment,
        ...server?.environment,
        ...(isProfiled && PROFILED),
        STARTING_CREDIT: '1000000.00',
        LOG_LEVEL: 'warn',
      },
    });
    try {
      const agentId = await createMeasuredAgent(product, NUMBER);
      let threads = () => '';
      const whileUp = async () => {
        const stopWatching = watchThreads(product.processes());
        threads = () => threadsText(stopWatching());
        if (isProfiled) console.log(profileText(await profileCalls(product, 0), calls));
      };
      const used = await runWebLoad(product, { way, agentId, calls, turns: TURNS, whileUp });
      console.log(`  cores of the product, by thread (in the kernel):\n${threads()}`);
      return webFigure(way, calls, used);
    } finally {
      await product.close();
    }
  } finally {
    await server?.close();
    await standIns.close();
  }
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { direct: { type: 'boolean' }, room: { type: 'boolean' }, profile: { type: 'boolean' } },
});
const calls = Number(positionals[0] ?? DEFAULT_CALLS);
if (!(Number.isInteger(calls) && calls >= 1 && calls <= 100))
  throw new Error('name how many calls at once, 1 to 100');
if (values.profile && values.direct === values.room)
  throw new Error('a profile is of one kind of calls: add --direct or --room');
const ways = (['direct', 'room'] as const).filter((way) => values[way] || values.direct === values.room);
const figures: Figure[] = [];
for (const way of ways) {
  console.log(`${calls} web calls, ${way} …`);
  figures.push(await measure(way, calls, values.profile === true));
}
console.log(`\n${toText(figures)}`);
process.exitCode = figures.every(({ verdict }) => verdict.startsWith('met')) ? 0 : 1;
