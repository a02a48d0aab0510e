/**
 * Builds the request of a webhook tool: placeholders in its URL, headers and body. Used by calls and by the
 * test route. One pass: filled values are never scanned again. A session variable takes precedence over an
 * argument of the same name; a missing value is empty.
 */
import type { PlannedTool } from './call-plan.ts';
import { fillPlaceholders } from './placeholders.ts';

/** Characters that a header value must not contain (RFC 9110 §5.5). */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters.
const CONTROLS = /[\x00-\x08\x0a-\x1f\x7f]+/g;

/** Sources of placeholder values. */
export interface TemplateValues {
  readonly variables: Readonly<Record<string, unknown>>;
  /** Without their `system.` prefix. */
  readonly systemVariables: object;
  /** The arguments from the model. */
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** The finished request. */
interface RenderedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Absent for GET and for an empty template. */
  readonly body?: string;
}

/** Fills a tool's templates. Throws `FilledTooLong`. */
export function renderRequest(
  tool: Pick<PlannedTool, 'method' | 'url' | 'headers' | 'content_type' | 'body_template'>,
  values: TemplateValues,
): RenderedRequest {
  const headers = renderHeaders(tool.headers, values);
  const request = { method: tool.method, url: renderUrl(tool.url, values), headers };
  if (tool.method === 'GET' || tool.body_template === '') return request;
  const declared = Object.entries(headers).find(([name]) => name.toLowerCase() === 'content-type')?.[1];
  if (declared === undefined) headers['content-type'] = tool.content_type;
  const isJson = [tool.content_type, declared ?? ''].some(isJsonType);
  return {
    ...request,
    body: isJson ? renderJson(tool.body_template, values) : renderPlain(tool.body_template, values),
  };
}

/** Fills the templates of headers. Throws `FilledTooLong`. */
export function renderHeaders(
  templates: PlannedTool['headers'],
  values: TemplateValues,
): Record<string, string> {
  const headers: Record<string, string> = {};
  // A line break in a value would start another header; other control characters would cause an error that
  // quotes the whole value.
  for (const { name, value } of templates) headers[name] = renderPlain(value, values).replace(CONTROLS, ' ');
  return headers;
}

/** Inserts values unchanged. */
function renderPlain(template: string, values: TemplateValues): string {
  return fillPlaceholders(template, ({ name }) => lookUp(name, values));
}

/** Inserts values percent-encoded (`+` becomes `%2B`, `/` becomes `%2F`). */
function renderUrl(template: string, values: TemplateValues): string {
  return fillPlaceholders(template, ({ name }) => encodeURIComponent(lookUp(name, values).toWellFormed()));
}

/** Inserts values JSON-escaped if the placeholder is inside a JSON string, otherwise unchanged. */
function renderJson(template: string, values: TemplateValues): string {
  let insideString = false;
  return fillPlaceholders(template, ({ name, before }) => {
    insideString = endsInsideString(before, insideString);
    const value = lookUp(name, values);
    return insideString ? JSON.stringify(value).slice(1, -1) : value;
  });
}

/** Whether the end of `text` is inside a JSON string, given whether its start is. */
function endsInsideString(text: string, startsInside: boolean): boolean {
  let inside = startsInside;
  for (let index = 0; index < text.length; index++) {
    if (text[index] === '"') inside = !inside;
    else if (inside && text[index] === '\\') index++;
  }
  return inside;
}

function lookUp(name: string, values: TemplateValues): string {
  if (name.startsWith('system.')) return asText(own(values.systemVariables, name.slice('system.'.length)));
  return asText(own(values.variables, name) ?? own(values.arguments, name));
}

function own(record: object, name: string): unknown {
  return Object.hasOwn(record, name) ? (record as Record<string, unknown>)[name] : undefined;
}

function asText(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function isJsonType(contentType: string): boolean {
  const type = (contentType.split(';')[0] ?? '').trim().toLowerCase();
  return type === 'application/json' || type.endsWith('+json');
}
