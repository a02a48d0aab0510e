/** Processes that load downloaded models: a damaged model file crashes such a process and no calls. */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { NO_TELEMETRY } from '#base/no-telemetry.ts';
import { typeOptions } from '#base/type-options.ts';

/** Starts the program with the model's files as its argument. It does not keep this process running. */
export function startModelProcess(program: URL, files: object): ChildProcess {
  const child = fork(fileURLToPath(program), [JSON.stringify(files)], {
    serialization: 'advanced',
    execArgv: [...typeOptions],
    // Ours contains secrets.
    env: NO_TELEMETRY,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  child.unref();
  child.channel?.unref();
  return child;
}
