import { expect, it } from 'vitest';
import { type ReceivedReport, ReportQueue } from '#control-plane/calls/workers/report-queue.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';

const report = (sessionId: string, seq: number, type: 'media' | 'joined' = 'media') =>
  ({ worker: {}, envelope: { session_id: sessionId, epoch: 1, seq, report: { type } } }) as ReceivedReport;

/** A queue, and what it has stored: when, of which session, and how many reports. */
function openQueue() {
  const clock = new ManualClock();
  const stored: (readonly [atMs: number, sessionId: string, reports: number])[] = [];
  const queue = new ReportQueue(clock, async (reports) => {
    stored.push([clock.now(), reports[0]?.envelope.session_id ?? '', reports.length]);
  });
  return { clock, queue, stored };
}

it('reports that may wait are stored together with those of other sessions, within 200 ms', async () => {
  const { clock, queue, stored } = openQueue();
  queue.add(report('a', 1));
  await clock.advance(30);
  queue.add(report('b', 1));
  queue.add(report('a', 2));
  await clock.advance(30);
  queue.add(report('c', 1));
  await clock.advance(300);
  expect(stored).toEqual([
    [200, 'a', 2],
    [200, 'b', 1],
    [250, 'c', 1],
  ]);
});

it('a report that may not wait takes those of its session before it along, and no others', async () => {
  const { clock, queue, stored } = openQueue();
  queue.add(report('a', 1));
  queue.add(report('b', 1));
  queue.add(report('a', 2, 'joined'));
  await clock.advance(0);
  expect(stored).toEqual([[0, 'a', 2]]);
  await clock.advance(300);
  expect(stored).toEqual([
    [0, 'a', 2],
    [200, 'b', 1],
  ]);
});

it('once it is closed nothing is stored any more', async () => {
  const { clock, queue, stored } = openQueue();
  queue.add(report('a', 1));
  await queue.close();
  await clock.advance(300);
  expect(stored).toEqual([]);
});
