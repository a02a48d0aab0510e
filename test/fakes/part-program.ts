/** A program for the supervisor's tests: lives as the part its argument names, and does what `BEHAVIOUR_<role>` tells it. */
import { appendFileSync } from 'node:fs';
import { createLogger } from '#config/log.ts';
import { type Part, runPart } from '../../part.ts';

const role = process.argv[2] ?? '';
const behaviour = process.env[`BEHAVIOUR_${role.replace('-', '_')}`] ?? '';

if (behaviour === 'fail') process.exit(3);
const part: Part = {
  facts: { pid: process.pid, role, outlivesDrain: role === 'control-plane' },
  lines: [],
  drain: async () => undefined,
  close: async () => undefined,
  workerDied: ({ instanceId, isReplaced, stoodIn }) =>
    tell(`${instanceId}${stoodIn === null ? '' : ` in ${stoodIn}`}${isReplaced ? '' : ' for good'}`),
};
void runPart(createLogger({ level: 'silent', name: role }), async (doing) => {
  if (behaviour === 'hang') doing(process.env['DOING'] ?? 'POST /v1/agent/tools (request 0123)');
  return part;
});
if (behaviour === 'hang' && process.env['HANG_ONCE'] !== undefined) setTimeout(() => standFor(Number.POSITIVE_INFINITY), 200);
if (behaviour === 'hang' && process.env['HANG_MS'] !== undefined) {
  setTimeout(() => {
    standFor(Number(process.env['HANG_MS']));
    tell('hung');
  }, 200);
}

function standFor(ms: number): void {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
}

function tell(line: string): void {
  appendFileSync(process.env['TOLD_FILE'] ?? '/dev/null', `${line}\n`);
}
