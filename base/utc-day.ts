/** The day (UTC) of a time, such as `2026-11-29`. */
export function utcDay(at: Date): string {
  return at.toISOString().slice(0, 10);
}
