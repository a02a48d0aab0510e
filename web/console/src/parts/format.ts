/** How times, durations, money and codes are written. */
const DATE_TIME = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const TIME = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });

/** A point in time. */
export function dateTime(at: string | null): string {
  return at === null ? '–' : DATE_TIME.format(new Date(at));
}

/** A time of the day, to the second. */
export function timeOfDay(at: string): string {
  return TIME.format(new Date(at));
}

/** Seconds as 0:07, 12:30 or 1:02:03. */
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

/** An amount of dollars as the API writes it. */
export function dollars(amount: string): string {
  return amount.startsWith('-') ? `−$${amount.slice(1)}` : `$${amount}`;
}

/** Milliseconds of a latency. */
export function milliseconds(ms: number | null): string {
  return ms === null ? '–' : `${Math.round(ms).toLocaleString('en-US')} ms`;
}

/** A wait as people say it. */
export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

/** A code of the API such as `user_hangup` as words. */
export function words(code: string): string {
  const text = code.replaceAll('_', ' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A share as a percentage. */
export function percent(share: number | null): string {
  return share === null ? '–' : `${(share * 100).toFixed(share === 1 || share === 0 ? 0 : 1)} %`;
}

/** A size in bytes. */
export function bytes(size: number): string {
  return size < 1_024 ? `${size} B` : `${(size / 1_024).toFixed(size < 10_240 ? 1 : 0)} KB`;
}
