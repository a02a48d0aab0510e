/** The answer of an MCP server's tool as text, cut to its limit. Pure. */
import { LIMITS } from '#config/limits.ts';
import type { McpAnswer } from '#protocol/mcp-connection.ts';
import type { RawOutcome } from './raw-outcome.ts';

const KIB = LIMITS.serverResultBytes / 1_024;

/** Takes text over and names other content. Structured content stands in for missing text. */
export function outcomeOf({ content, structuredContent, isError }: McpAnswer): RawOutcome {
  const texts = content.map(textOf);
  if (texts.length === 0 && structuredContent !== undefined) texts.push(JSON.stringify(structuredContent));
  const { text, isCut } = cut(texts.join('\n'));
  return {
    ok: isError !== true,
    output: text,
    outputTruncated: isCut,
    error: isError === true ? 'the tool reported an error' : null,
  };
}

function textOf(block: McpAnswer['content'][number]): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'image':
    case 'audio':
      return `[${block.type}, ${block.mimeType}: not shown]`;
    case 'resource':
      return 'text' in block.resource ? block.resource.text : `[resource ${block.resource.uri}: not shown]`;
    case 'resource_link':
      return `[resource ${block.uri}: not shown]`;
    default:
      return '[content of an unknown type: not shown]';
  }
}

function cut(text: string): { text: string; isCut: boolean } {
  const bytes = Buffer.from(text);
  if (bytes.byteLength <= LIMITS.serverResultBytes) return { text, isCut: false };
  // A character at the border may be cut in two.
  const kept = bytes
    .subarray(0, LIMITS.serverResultBytes)
    .toString('utf8')
    .replace(/\ufffd$/, '');
  return { text: `${kept}\n[The result is longer than ${KIB} KiB and was cut here.]`, isCut: true };
}
