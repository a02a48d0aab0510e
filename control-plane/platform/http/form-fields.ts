/** What forms of either kind have in common: how many fields they may have, and what comes of them. */

/** Fields and files of one form. */
export const FORM_FIELDS = 64;
export const FORM_FILES = 24;
export const MOST_PARTS = FORM_FIELDS + FORM_FILES;

/** The fields of a form as an object; a repeated name becomes a list. */
export function byName(fields: Iterable<readonly [string, unknown]>): Record<string, unknown> {
  const form = new Map<string, unknown[]>();
  for (const [name, value] of fields) {
    const values = form.get(name);
    if (values) values.push(value);
    else form.set(name, [value]);
  }
  return Object.fromEntries(
    [...form].map(([name, values]) => [name, values.length === 1 ? values[0] : values]),
  );
}
