/** The message of anything thrown; for a failed `fetch`, that of its cause, such as a refused connection. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (error.message !== 'fetch failed' || !(cause instanceof Error)) return error.message;
  // With several addresses of one host the message is empty.
  return cause.message || ((cause as NodeJS.ErrnoException).code ?? error.message);
}
