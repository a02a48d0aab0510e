/** Multipart forms. */

/**
 * A body as a form: files and texts as they are, lists as repeated fields, objects as JSON. Undefined fields
 * are left out. Bytes without a name are called after their field.
 */
export function formOf(body: unknown): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(body ?? {}))
    for (const item of [value].flat()) append(form, name, item);
  return form;
}

function append(form: FormData, name: string, value: unknown): void {
  if (value === undefined || value === null) return;
  if (value instanceof Blob) form.append(name, value);
  else if (value instanceof Uint8Array) form.append(name, new Blob([new Uint8Array(value)]), name);
  else form.append(name, typeof value === 'object' ? JSON.stringify(value) : String(value));
}
