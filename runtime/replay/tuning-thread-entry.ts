/** The thread that judges the pauses of calls, reports the counts, and ends. */
import { parentPort, workerData } from 'node:worker_threads';
import { treatThisThreadAsOthers } from '#base/thread-priority.ts';
import type { TuningRequest } from './replay-request.ts';
import { tallyLogs } from './tuning.ts';

treatThisThreadAsOthers();

parentPort?.postMessage(tallyLogs((workerData as TuningRequest).logs));
