/**
 * A program for the supervisor's tests: runs in the role that its argument names and behaves as
 * `BEHAVIOUR_<role>` says.
 */
import { appendFileSync } from 'node:fs';
import { createLogger } from '#base/log.ts';
import { activityDescriptor } from '#processes/activity-file.ts';
import { type ManagedProcess, runProcess } from '#processes/child-process.ts';
import { openHangAttribution } from '#processes/hang-attribution.ts';

const role = process.argv[2] ?? '';
const behaviour = process.env[`BEHAVIOUR_${role.replace('-', '_')}`] ?? '';

if (behaviour === 'fail') process.exit(3);
const services: ManagedProcess = {
  facts: { pid: process.pid, role, outlivesDrain: role === 'control-plane' },
  lines: [],
  drain: async () => undefined,
  close: async () => undefined,
  workerDied: ({ instanceId, isReplaced, hungIn }) =>
    report(`${instanceId}${hungIn === null ? '' : ` in ${hungIn}`}${isReplaced ? '' : ' for good'}`),
};
const logger = createLogger({ level: 'silent', name: role });
/** Session in whose turn the program hangs, and a session whose work is finished before it hangs. */
const { HANG_IN, HANG_AFTER } = process.env;
const hasTurns = HANG_IN !== undefined || HANG_AFTER !== undefined;
void runProcess(logger, async (doing) => {
  if (behaviour === 'hang' && !hasTurns) doing('POST /v1/agent/tools (request 0123)');
  return services;
});
if (behaviour === 'hang' && process.env['HANG_ONCE'] !== undefined) setTimeout(hang, 200);
if (behaviour === 'hang' && process.env['HANG_MS'] !== undefined) {
  setTimeout(() => {
    standFor(Number(process.env['HANG_MS']));
    report('hung');
  }, 200);
}

function hang(): void {
  const within = openHangAttribution(hasTurns ? activityDescriptor(process.env) : null, logger);
  // By then the reporting thread is running.
  setTimeout(() => {
    within(HANG_AFTER ?? '')(() => standFor(hasTurns ? 600 : 0));
    if (HANG_IN === undefined) standFor(Number.POSITIVE_INFINITY);
    else within(HANG_IN)(() => standFor(Number.POSITIVE_INFINITY));
  }, 1_000);
}

function standFor(ms: number): void {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
}

function report(line: string): void {
  appendFileSync(process.env['REPORTS_FILE'] ?? '/dev/null', `${line}\n`);
}
