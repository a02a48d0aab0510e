/** Shared by both kinds of form: the limit on fields, and the conversion into an object. */

/** Maximum number of fields and of files in a form. */
export const FORM_FIELDS = 64;
export const FORM_FILES = 24;
export const MAX_PARTS = FORM_FIELDS + FORM_FILES;

/** Converts form fields into an object; values of a repeated name become a list. */
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
