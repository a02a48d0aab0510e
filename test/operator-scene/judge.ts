/** Judges the answers to the queries of dashboards and alerts after a scene with calls and a drain. */

/** The results of one expression of a panel or an alert over the whole scene. */
export interface Answer {
  /** `turns.json`; `alerts` for the expression of an alert. */
  readonly file: string;
  /** Of the panel, or the alert's name. */
  readonly title: string;
  readonly expression: string;
  readonly series: number;
  /** Series with at least one number; the others are all NaN. */
  readonly with_numbers: number;
  readonly last: number | null;
  readonly max: number | null;
  readonly error?: string;
}

export const ALERTS = 'alerts';

/** Panels that may be without numbers, and why. */
const QUIET: Readonly<Record<string, string>> = {
  'Wrong now': 'no alert fires',
  'Refused calls': 'no call is refused',
  'Silences that the caller ended': 'there may be no silence',
  'Failures by vendor': 'no request fails',
  'Fail-overs': 'no request fails',
};
/** Panels about things that happen in the scene: something above zero. */
const HAPPENED = new Set([
  ...['Calls a minute', 'Calls by channel', 'Calls by end', 'Time to admit a call'],
  ...['Time until caller and agent meet', 'Quality of phone audio (MOS)'],
  ...['Workers', 'Free slots', 'Slots', 'Active sessions', 'Database', 'Database and Redis, 95th percentile'],
  ...['Take-overs', 'Memory of each part', 'Gaps of take-overs, 95th percentile'],
  ...['Median, last hour', '95th percentile, last hour', 'Latency of a turn', 'Parts of the average turn'],
  ...['Parts by vendor, 95th percentile', 'Latency by channel, 95th percentile'],
  ...['Charged, last 24 hours', 'Taken from wallets', 'Entries of wallets', 'Webhooks by outcome'],
  ...['Age of webhooks at their delivery', 'Requests by vendor', 'First answer, 95th percentile'],
]);

/** Lists the failed, missing and empty answers. */
export function problemsOf(answers: readonly Answer[]): string[] {
  const titles = new Set(answers.map(({ title }) => title));
  return [
    ...[...HAPPENED, ...Object.keys(QUIET)]
      .filter((title) => !titles.has(title))
      .map((title) => `no panel ${title}`),
    ...answers.flatMap(({ file, title, expression, error, ...found }) => {
      const name = `${file}, ${title}: ${expression}`;
      if (error !== undefined) return [`${name}: ${error}`];
      if (file === ALERTS) return [];
      if (found.with_numbers === 0) return title in QUIET ? [] : [`${name}: empty`];
      return HAPPENED.has(title) && !((found.max ?? 0) > 0) ? [`${name}: never above 0`] : [];
    }),
  ];
}

/** A line about each expression of a panel. */
export function describePanels(answers: readonly Answer[]): string[] {
  return answers
    .filter(({ file }) => file !== ALERTS)
    .map(({ file, title, series, last, max, with_numbers: numbers }) => {
      const quiet = QUIET[title] ?? 'no numbers';
      const shown = numbers === 0 ? `empty: ${quiet}` : `last ${short(last)}, highest ${short(max)}`;
      return `${file.replace('.json', '')} | ${title} | ${series} series | ${shown}`;
    });
}

/** The alerts whose condition held at some time. */
export function pendingAlerts(answers: readonly Answer[]): string[] {
  return answers.filter(({ file, series }) => file === ALERTS && series > 0).map(({ title }) => title);
}

function short(value: number | null): string {
  return value === null ? '–' : String(Number(value.toPrecision(3)));
}
