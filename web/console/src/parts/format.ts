/** Formats times, durations, money and codes. */
const DATE_TIME = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const TIME = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });

const TENTHS = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 1,
});

/** Date and time. */
export function dateTime(at: string | null): string {
  return at === null ? '–' : DATE_TIME.format(new Date(at));
}

/** Time of day with seconds. */
export function timeOfDay(at: string): string {
  return TIME.format(new Date(at));
}

/** Time of day with tenths of a second: differences in a conversation are often that small. */
export function tenthsOfDay(at: string): string {
  return TENTHS.format(new Date(at));
}

/** Seconds in the form 0:07, 12:30 or 1:02:03. */
export function duration(seconds: number | null): string {
  if (seconds === null) return '–';
  const whole = Math.max(0, Math.round(seconds));
  const [hours, minutes, rest] = [
    Math.floor(whole / 3_600),
    Math.floor(whole / 60) % 60,
    String(whole % 60).padStart(2, '0'),
  ];
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, '0')}:${rest}` : `${minutes}:${rest}`;
}

/** Formats an amount in dollars as received from the API. */
export function dollars(amount: string): string {
  return amount.startsWith('-') ? `−$${amount.slice(1)}` : `$${amount}`;
}

/** Formats a change of a balance: what is added has a plus sign. */
export function signedDollars(amount: string): string {
  return Number(amount) > 0 ? `+${dollars(amount)}` : dollars(amount);
}

/** Formats an amount without fractions of a cent, rounded down. */
export function wholeCents(amount: string): string {
  return dollars(amount.replace(/(\.\d{2})\d+$/, '$1'));
}

/** Formats a latency in milliseconds. */
export function milliseconds(ms: number | null): string {
  return ms === null ? '–' : `${Math.round(ms).toLocaleString('en-US')} ms`;
}

/** Formats a waiting time in seconds. */
export function seconds(ms: number): string {
  const digits = { minimumFractionDigits: 1, maximumFractionDigits: 1 };
  return `${(ms / 1_000).toLocaleString('en-US', digits)} s`;
}

/** Converts a code of the API such as `user_hangup` to words. */
export function words(code: string): string {
  const text = code.replaceAll('_', ' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Formats a share as a percentage. */
export function percent(share: number | null): string {
  return share === null ? '–' : `${(share * 100).toFixed(share === 1 || share === 0 ? 0 : 1)} %`;
}

/** Formats a difference with so many decimal digits; what is less has a minus sign. */
export function signed(difference: number, digits: number): string {
  // What is rounded to zero has no sign.
  const rounded = Number(difference.toFixed(digits)) || 0;
  return rounded.toFixed(digits).replace('-', '−');
}

/** Formats a difference of times; what is lost has a minus sign. */
export function signedTime(ms: number, format: (ms: number) => string): string {
  return `${ms < 0 ? '−' : ''}${format(Math.abs(ms))}`;
}

/** Formats a figure with its 95 % interval, if it has one. */
export function withInterval(
  { value, low, high }: { readonly value: number; readonly low: number | null; readonly high: number | null },
  format: (value: number) => string,
): string {
  if (low === null || high === null) return format(value);
  return `${format(value)} (${format(low)} to ${format(high)})`;
}

/** Formats the size of a download. */
export function megabytes(size: number): string {
  return `${(size / 1e6).toFixed(size < 1e6 ? 1 : 0)} MB`;
}

/** Formats a size in bytes. */
export function bytes(size: number): string {
  return size < 1_024 ? `${size} B` : `${(size / 1_024).toFixed(size < 10_240 ? 1 : 0)} KB`;
}
