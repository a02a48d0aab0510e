/** Errors of an installation. The message says what to do. */

/**
 * `offline`: the site cannot be reached; `refused`: it answers with an error; `corrupt`: the files are not
 * those of the table; `no_space`: the disk is full; `busy`: another program downloads the model;
 * `unloadable`: it does not run on this machine; `too_slow`: it cannot follow a caller on this machine.
 */
export type ModelFailure =
  | 'offline'
  | 'refused'
  | 'corrupt'
  | 'no_space'
  | 'busy'
  | 'unloadable'
  | 'too_slow';

/** A failure that no retry will fix. */
export class ModelError extends Error {
  override readonly name = 'ModelError';
  readonly failure: ModelFailure;

  constructor(failure: ModelFailure, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.failure = failure;
  }
}

/** The error as `no_space` if it says that the disk or its quota is full; otherwise itself. */
export function fullDiskOf(error: unknown): unknown {
  const { code } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return error;
  return new ModelError('no_space', `The disk is full (${code}). Make space and start the download again`, {
    cause: error,
  });
}
