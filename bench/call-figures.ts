/** What a load of phone calls showed, judged by the budgets of design §8. */
import type { LoadResult } from './call-load.ts';
import { type Figure, judged } from './figures.ts';
import { quantile } from './statistics.ts';

/** Each figure of the load with its budget. */
export function callFigures(result: LoadResult): Figure[] {
  const load = `${result.calls} call${result.calls === 1 ? '' : 's'}`;
  const { turnShareMs, bargeInMs, offGridMs, inviteToAnswerMs, answerToGreetingMs } = result;
  const of = (values: readonly number[], limits: Readonly<Record<string, number>>) =>
    Object.entries(limits).map(([name, limit]) => ({ name, limit, value: quantile(values, Number(name.slice(1)) / 100) }));
  const about = (what: string, samples: readonly number[], unit = 'ms') => ({ what, load, unit, samples: samples.length });
  return [
    judged(about('own share of a turn', turnShareMs), of(turnShareMs, { p50: 30, p95: 50, p99: 80 })),
    judged(about('barge-in to silence', bargeInMs), of(bargeInMs, { p95: 60, p99: 90 })),
    judged({ ...about('packets off the 20 ms grid', offGridMs), digits: 2 }, of(offGridMs, { p99: 2.5, 'p99.9': 6 })),
    judged(about('longest gap between packets', offGridMs), [{ name: '', value: result.longestGapMs, limit: 40 }]),
    judged(about('INVITE to 200', inviteToAnswerMs), of(inviteToAnswerMs, { p95: 150 })),
    judged(about('200 to the greeting', answerToGreetingMs), of(answerToGreetingMs, { p95: 200 })),
    judged({ what: 'CPU of all threads per call-minute, phone', load, unit: 's', samples: result.calls, digits: 2 }, [
      { name: '', value: result.cpu.perCallMinute, limit: 0.3 },
    ]),
    judged({ what: 'CPU of all threads to set a call up, phone', load, unit: 's', samples: result.calls, digits: 2 }, [
      { name: '', value: result.cpu.perCallSetUp, limit: 0.3 },
    ]),
  ];
}
