/** Namespaces of a scene's own: the kernel ends their networks and processes with the scene. */
import { spawn } from 'node:child_process';
import { has } from '#test/needs.ts';

/** Set within them. */
const WITHIN = 'SCENE_WITHIN';
const NAMESPACES = ['--net', '--pid', '--fork', '--kill-child', '--mount-proc'];
/**
 * A scene runs before the other programs of the machine, if that is permitted: they would stall callers and
 * all machines at once (sched(7), autogroup).
 */
const FAVOUR = '{ echo -20 > /proc/self/autogroup; } 2> /dev/null';

/** Runs `scene` in namespaces of its own: in this process if it is in them, otherwise in another one. */
export function runInNamespaces(needed: readonly string[], scene: () => Promise<void>): Promise<void> {
  if (process.env[WITHIN] !== undefined) return scene();
  const missing = ['unshare', 'nsenter', 'ip', ...needed].filter((program) => !has([program]));
  if (missing.length > 0) {
    console.error(`not on this machine: ${missing.join(', ')}`);
    process.exit(2);
  }
  const inner = ['unshare', ...NAMESPACES, process.execPath, ...process.argv.slice(1)];
  const child = spawn('sh', ['-c', `${FAVOUR}\nexec "$@"`, 'sh', ...inner], {
    // In a session of its own, to which FAVOUR applies.
    detached: true,
    stdio: 'inherit',
    env: { ...process.env, [WITHIN]: 'yes' },
  });
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => child.kill('SIGKILL'));
  child.on('exit', (code) => process.exit(code ?? 1));
  return Promise.resolve();
}
