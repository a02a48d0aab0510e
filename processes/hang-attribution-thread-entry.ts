/** The thread beside a worker's event loop, which looks at what the loop is doing. */
import { workerData } from 'node:worker_threads';
import { systemClock } from '#base/clock.ts';
import { collectStartGarbage } from '#base/garbage.ts';
import { activityWriter } from './activity-file.ts';
import type { HangAttributionData } from './hang-attribution.ts';
import { SessionWatch } from './session-watch.ts';

/** Well below the time after which a hung process is killed. */
const LOOK_MS = 250;

const { memory, fd } = workerData as HangAttributionData;
const watch = new SessionWatch(memory, activityWriter(fd));

collectStartGarbage();
systemClock.every(LOOK_MS, () => watch.look());
