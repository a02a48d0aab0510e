/** How the tools of a server differ from those before: new, gone, and changed with both forms. */
import { Stack, Text } from '@mantine/core';
import type { PinnedToolServers } from '../api/types.ts';

/** Tools that differ. */
export type Changes = PinnedToolServers['tool_servers'][number]['changes'];
type ServerTool = Changes['added'][number];

/** The number of tools that differ. */
export function countChanges({ added, changed, removed }: Changes): number {
  return added.length + changed.length + removed.length;
}

export function ToolChanges({ changes: { added, changed, removed } }: { changes: Changes }) {
  return (
    <Stack component="dl" gap="sm" m={0}>
      {added.map(({ name, description }) => (
        <Change key={name} name={name} what="new">
          <ins className="diff-new">{description}</ins>
        </Change>
      ))}
      {removed.map(({ name, description }) => (
        <Change key={name} name={name} what="gone">
          <del className="diff-old">{description}</del>
        </Change>
      ))}
      {changed.map(({ before, after }) => (
        <Change key={after.name} name={after.name} what="changed">
          {fieldsOf(before, after).map(([old, fresh]) => (
            <span className="changed" key={fresh}>
              <del className="diff-old">{old === '' ? '(empty)' : old}</del>{' '}
              <ins className="diff-new">{fresh === '' ? '(empty)' : fresh}</ins>
            </span>
          ))}
        </Change>
      ))}
    </Stack>
  );
}

function Change({ name, what, children }: { name: string; what: string; children: React.ReactNode }) {
  return (
    <div>
      <Text component="dt" c="dimmed">
        <span className="mono">{name}</span> · {what}
      </Text>
      <dd style={{ margin: 0 }}>{children}</dd>
    </div>
  );
}

/** The description and the schema, as far as they differ. */
function fieldsOf(before: ServerTool, after: ServerTool): (readonly [string, string])[] {
  const schema = (tool: ServerTool) => JSON.stringify(tool.input_schema, null, 2);
  const pairs = [
    [before.description, after.description],
    [schema(before), schema(after)],
  ] as const;
  return pairs.filter(([old, fresh]) => old !== fresh);
}
