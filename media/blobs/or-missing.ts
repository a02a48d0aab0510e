/** Results of file operations on paths that may not exist. */

/** Returns `fallback` if the path does not exist or is of another kind. Rejects with every other error. */
export async function orMissing<T, U>(work: Promise<T>, fallback: U): Promise<T | U> {
  try {
    return await work;
  } catch (error) {
    if (
      error instanceof Error &&
      'code' in error &&
      ['ENOENT', 'ENOTDIR', 'EISDIR'].includes(String(error.code))
    )
      return fallback;
    throw error;
  }
}
