/** How a process ended, for error messages. */
export function describeExit(code: number | null, signal: NodeJS.Signals | null): string {
  return signal === null ? `exit status ${code}` : `killed by ${signal}`;
}
