/** The file of a call of the product, as its owner exports it. */
import { type ReadCallFile, readCallFile, splitCallFile } from '#protocol/call-file.ts';
import type { Product } from './product.ts';

/** Exports and verifies a call. Throws if it is refused, or if anything in it is not as it was signed. */
export async function exportedFile({ url, rootKey }: Product, sessionId: string): Promise<ReadCallFile> {
  const response = await fetch(`${url}/v1/agent/sessions/${sessionId}/call-file`, {
    method: 'POST',
    headers: { authorization: `Bearer ${rootKey}`, 'content-type': 'application/json' },
    body: '{}',
  });
  const text = await response.text();
  const split = splitCallFile(text);
  if (!split) throw new Error(`not exported: ${text.slice(0, 500)}`);
  const file = await readCallFile(split);
  if (file.problems.length > 0) throw new Error(file.problems.join('; '));
  return file;
}
