/** Multipart forms of knowledge uploads, for tests. */
import type { TestApi, TestResponse } from '../../test-api.ts';

/** A form: text fields, and one or more files under `source`. */
export interface KnowledgeForm {
  readonly source?: Content | readonly Content[];
  /** The default is a Markdown page. */
  readonly fileName?: string;
  readonly [field: string]: unknown;
}
type Content = string | Uint8Array<ArrayBuffer>;

/** Sends the form. */
export async function sendForm(
  api: TestApi,
  key: string,
  url: string,
  request: { readonly method: 'POST' | 'PATCH'; readonly form: KnowledgeForm },
): Promise<TestResponse> {
  const { source, fileName = 'faq.md', ...fields } = request.form;
  const data = new FormData();
  for (const [name, value] of Object.entries(fields)) data.append(name, String(value));
  for (const content of source === undefined ? [] : ([source].flat() as Content[]))
    data.append('source', new Blob([content]), fileName);
  const encoded = new Response(data);
  const raw = Buffer.from(await encoded.arrayBuffer());
  return api.request(request.method, url, {
    key,
    raw,
    headers: { 'content-type': encoded.headers.get('content-type') ?? '' },
  });
}
