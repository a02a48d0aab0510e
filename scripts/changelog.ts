/** Decisions of `npm run release` about versions and the changelog. */

const HEAD = '# Changelog\n\nOne entry for each change, by its commit.\n';
const VERSION = /^(\d{1,6})\.(\d{1,6})\.(\d{1,6})$/;

/** The part of the changelog about one release. */
export interface Entry {
  readonly version: string;
  /** Day of the release, `YYYY-MM-DD`. */
  readonly date: string;
  /** Subjects of its commits, newest first. None: the first release. */
  readonly subjects: readonly string[];
}

/** The changelog with this release before the earlier ones. `text` may be empty. */
export function changelogWith(text: string, { version, date, subjects }: Entry): string {
  const earlier = text.slice(text.indexOf('\n## ') === -1 ? text.length : text.indexOf('\n## '));
  const lines = subjects.length === 0 ? ['The first release.'] : subjects.map((subject) => `- ${subject}`);
  return `${HEAD}\n## ${version} (${date})\n\n${lines.join('\n')}\n${earlier}`;
}

/** Whether `wanted` is a version, `major.minor.patch`, after `current`. */
export function isLaterVersion(wanted: string, current: string): boolean {
  const [to, from] = [VERSION.exec(wanted), VERSION.exec(current)];
  if (!to || !from) return false;
  for (const index of [1, 2, 3]) {
    const difference = Number(to[index]) - Number(from[index]);
    if (difference !== 0) return difference > 0;
  }
  return false;
}
