/** Compares the measurements of a load test of phone calls with their budgets. */
import { type LoadResult, RESPONSE_WAIT_MS } from './call-load.ts';
import { type Figure, judge, judgeSamples, type TimedSample } from './figures.ts';

/** CPU seconds of a call-minute. A process wakes as often for one call as for ten: they share that. */
const CPU_LIMITS = { few: 0.5, many: 0.3, manyFrom: 50 };

/** Each figure of the load, with its budget. */
export function callFigures(result: LoadResult): Figure[] {
  const load = loadOf(result);
  const { stalls } = result;
  const calls = { load, unit: 's', samples: result.calls, digits: 2 };
  /**
   * A stall disturbs a sample if it falls within the largest limit before it, plus any wait that precedes the
   * measured part.
   */
  const of = (
    what: string,
    samples: readonly TimedSample[],
    limits: Readonly<Record<string, number>>,
    waitMs = 0,
  ) =>
    judgeSamples({ what, load, unit: 'ms' }, samples, limits, {
      stalls,
      windowMs: waitMs + Math.max(...Object.values(limits)),
      toleranceMs: 5,
    });
  return [
    of('Parley’s share of a turn', result.turnShareMs, { p95: 15, p99: 20 }, RESPONSE_WAIT_MS),
    of('barge-in to silence', result.bargeInMs, { p95: 20, p99: 30 }),
    judgeSamples(
      { what: 'packets off the 20 ms grid', load, unit: 'ms', digits: 2 },
      result.offGridMs,
      { p99: 1.2, 'p99.9': 4 },
      { stalls, windowMs: 4, toleranceMs: 1 },
    ),
    of('longest gap between packets', result.gapMs, { '': 40 }),
    of('INVITE to 200', result.inviteToAnswerMs, { p95: 150 }),
    of('200 to the greeting', result.answerToGreetingMs, { p95: 200 }),
    judge({ what: 'CPU of all threads per call-minute, phone', ...calls }, [
      {
        name: '',
        value: result.cpu.perCallMinute,
        limit: result.calls < CPU_LIMITS.manyFrom ? CPU_LIMITS.few : CPU_LIMITS.many,
      },
    ]),
    judge({ what: 'CPU of all threads per call set-up, phone', ...calls }, [
      { name: '', value: result.cpu.perCallSetUp, limit: 0.3 },
    ]),
  ];
}

function loadOf({ calls, takenShare }: LoadResult): string {
  const taken = takenShare === null ? '' : `, ${(100 * takenShare).toFixed(0)} % of each core taken away`;
  return `${calls} call${calls === 1 ? '' : 's'}${taken}`;
}
