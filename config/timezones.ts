/** IANA time zones, as the runtime's own data knows them. */

/** True for the name of an IANA zone such as `Europe/Berlin`; offsets such as `+01:00` are not names. */
export function isTimezone(name: string): boolean {
  if (!/^[A-Za-z][\w+/-]*$/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
