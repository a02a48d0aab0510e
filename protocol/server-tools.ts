/**
 * Tools of MCP servers as they are stored, pinned and compared. A server is hostile input: a tool whose name,
 * description or schema is over a limit is left out and named. Pure.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { canonicalJson } from '#base/canonical-json.ts';
import { LIMITS } from '#config/limits.ts';
import { freeJson } from './free-json.ts';

/** One tool of a server. */
export const serverTool = z.object({
  name: z.string(),
  description: z.string(),
  /** JSON schema of the arguments as canonical JSON: a store may change keys such as `$ref`. */
  input_schema: z.string(),
  /** `sha256:<hex>` of the name, the description and the schema. */
  hash: z.string(),
});
export type ServerTool = z.output<typeof serverTool>;

/** A tool that cannot be offered, and why. */
export interface RefusedTool {
  readonly name: string;
  readonly reason: string;
}

/** A server's tools after the border. */
export interface ListedTools {
  readonly tools: readonly ServerTool[];
  readonly refused: readonly RefusedTool[];
}

const NAME_SHOWN_CHARS = 128;

const listed = z.object({
  name: z.string().regex(/^[A-Za-z0-9_./-]{1,128}$/, 'the name must be 1 to 128 of A-Z a-z 0-9 _ . / -'),
  description: z
    .string()
    .max(
      LIMITS.serverToolDescriptionChars,
      `the description has more than ${LIMITS.serverToolDescriptionChars} characters`,
    )
    .default(''),
  inputSchema: z
    .looseObject({ type: z.literal('object', 'the schema must be of type object') })
    .superRefine(freeJson(LIMITS.serverToolSchemaBytes)),
});

/** Takes over what a server listed, in its order, as far as the limits allow. */
export function readServerTools(raw: readonly unknown[]): ListedTools {
  const tools = new Map<string, ServerTool>();
  const refused: RefusedTool[] = [];
  let bytes = 0;
  for (const each of raw.slice(0, LIMITS.listedServerTools)) {
    const parsed = listed.safeParse(each);
    if (!parsed.success) {
      refused.push({ name: nameOf(each), reason: parsed.error.issues[0]?.message ?? 'malformed' });
      continue;
    }
    const tool = toServerTool(parsed.data);
    bytes += tool.input_schema.length + tool.description.length;
    if (bytes > LIMITS.serverListBytes)
      refused.push({ name: tool.name, reason: `all tools together exceed ${LIMITS.serverListBytes} bytes` });
    else if (tools.has(tool.name)) refused.push({ name: tool.name, reason: 'the name is listed twice' });
    else tools.set(tool.name, tool);
  }
  if (raw.length > LIMITS.listedServerTools)
    refused.push({ name: '…', reason: `only the first ${LIMITS.listedServerTools} tools are read` });
  return { tools: [...tools.values()], refused };
}

function toServerTool({ name, description, inputSchema }: z.output<typeof listed>): ServerTool {
  const input_schema = canonicalJson(inputSchema);
  const identity = JSON.stringify([name, description, input_schema]);
  const hash = `sha256:${createHash('sha256').update(identity).digest('hex')}`;
  return { name, description, input_schema, hash };
}

function nameOf(raw: unknown): string {
  const name = typeof raw === 'object' && raw !== null && 'name' in raw ? raw.name : '';
  return typeof name === 'string' ? name.slice(0, NAME_SHOWN_CHARS) : '';
}

/** How one list of tools differs from another. */
export interface ToolChanges {
  readonly added: readonly ServerTool[];
  readonly removed: readonly ServerTool[];
  readonly changed: readonly { readonly before: ServerTool; readonly after: ServerTool }[];
}

/** Compares two lists by name and hash. */
export function toolChanges(before: readonly ServerTool[], after: readonly ServerTool[]): ToolChanges {
  const known = new Map(before.map((tool) => [tool.name, tool]));
  const kept = new Set(after.map((tool) => tool.name));
  return {
    added: after.filter((tool) => !known.has(tool.name)),
    removed: before.filter((tool) => !kept.has(tool.name)),
    changed: after.flatMap((tool) => {
      const old = known.get(tool.name);
      return old && old.hash !== tool.hash ? [{ before: old, after: tool }] : [];
    }),
  };
}

/** The tools that agents may use: all, or those of `allowed`. */
export function permittedTools<Tool extends { readonly name: string }>(
  tools: readonly Tool[],
  allowed: readonly string[] | null,
): Tool[] {
  return tools.filter(({ name }) => allowed === null || allowed.includes(name));
}
