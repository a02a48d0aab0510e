/**
 * Prints the priorities of this thread and of one it has started, as JSON: while the process loads, and once
 * it serves.
 */
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { getPriority } from 'node:os';
import { Worker } from 'node:worker_threads';
import { loadBeforeServing } from '#base/thread-priority.ts';

const threads = () => readdirSync('/proc/self/task').map(Number);

const serve = loadBeforeServing();
const before = new Set(threads());
const worker = new Worker('setInterval(() => undefined, 1_000)', { eval: true });
await once(worker, 'online');
const [started = 0] = threads().filter((thread) => !before.has(thread));
const priorities = () => ({ own: getPriority(), started: getPriority(started) });
const loading = priorities();
serve();
console.log(JSON.stringify({ loading, serving: priorities() }));
await worker.terminate();
