/** Connects to a server to test it, and shows its tools: which of them agents may use, and how. */
import { Alert, Button, Checkbox, Group, Stack, Switch, Text } from '@mantine/core';
import { call } from '../api/client.ts';
import { messageOf, useChange } from '../api/queries.ts';
import type { ReadToolServer, ToolServer } from '../api/types.ts';
import { dateTime } from '../parts/format.ts';
import { Section } from '../parts/page.tsx';
import type { ServerForm } from './server-form.ts';
import { countChanges, ToolChanges } from './tool-changes.tsx';

interface Props {
  readonly saved: ToolServer;
  readonly form: ServerForm;
  readonly isDirty: boolean;
  set(patch: Partial<ServerForm>): void;
}

/** The connection and what came of the last attempt. */
export function ConnectionTest({ saved, isDirty }: Pick<Props, 'saved' | 'isDirty'>) {
  const path = `/v1/agent/tool-servers/${saved.tool_server_id}`;
  const test = useChange(() => call<ReadToolServer>('POST', `${path}/refresh`), {
    touches: ['/v1/agent/tool-servers', '/v1/agent/agents'],
    quiet: true,
  });
  return (
    <Section
      title="Connection"
      aside={
        <Button variant="default" loading={test.isPending} onClick={() => test.mutate()}>
          Test and read the tools
        </Button>
      }
    >
      <Stack gap="sm">
        <Text size="sm" c="dimmed">
          {saved.listed_at === null
            ? 'The tools were not read yet. An agent with this server can be published once they are.'
            : `The tools were last read ${dateTime(saved.listed_at)}.`}
          {isDirty ? ' Unsaved changes are not tested.' : ''}
        </Text>
        {test.error && (
          <Alert color="red" variant="outline" title="The tools could not be read" role="alert">
            <Text size="sm">{messageOf(test.error)}</Text>
          </Alert>
        )}
        {test.data && <Read read={test.data} />}
      </Stack>
    </Section>
  );
}

function Read({ read }: { read: ReadToolServer }) {
  const count = countChanges(read.changes);
  return (
    <Stack gap="sm" role="status">
      <Text fw={600}>
        Connected: {read.tool_count === 1 ? '1 tool' : `${read.tool_count} tools`}, protocol{' '}
        {read.protocol_version}
      </Text>
      {count > 0 && (
        <>
          <Text size="sm" c="dimmed">
            {count === 1 ? '1 tool differs' : `${count} tools differ`} from those read before. Agents use them
            once they are published again.
          </Text>
          <ToolChanges changes={read.changes} />
        </>
      )}
    </Stack>
  );
}

export function ServerTools({ saved, form, set }: Omit<Props, 'isDirty'>) {
  const { allowed_tools: allowed } = form;
  if (saved.tools.length === 0 && saved.refused_tools.length === 0) return null;
  const isAllowed = (name: string) => allowed === null || allowed.includes(name);
  return (
    <Section
      title="Tools"
      aside={
        <Switch
          label="Agents may use all of them"
          checked={allowed === null}
          onChange={(event) =>
            set({ allowed_tools: event.currentTarget.checked ? null : saved.tools.map(({ name }) => name) })
          }
        />
      }
    >
      <Stack gap="lg">
        {saved.tools.map((tool) => (
          <Tool
            key={tool.name}
            tool={tool}
            isFixed={allowed === null}
            isAllowed={isAllowed(tool.name)}
            isBackground={form.background_tools.includes(tool.name)}
            onAllowed={(isOn) => set({ allowed_tools: toggled(allowed ?? [], tool.name, isOn) })}
            onBackground={(isOn) =>
              set({ background_tools: toggled(form.background_tools, tool.name, isOn) })
            }
          />
        ))}
        {saved.refused_tools.length > 0 && (
          <Alert color="yellow" variant="outline" title="Some tools cannot be used">
            {saved.refused_tools.map(({ name, reason }) => (
              <Text size="sm" key={`${name} ${reason}`}>
                <span className="mono">{name}</span>: {reason}
              </Text>
            ))}
          </Alert>
        )}
      </Stack>
    </Section>
  );
}

function Tool({
  tool,
  isFixed,
  isAllowed,
  isBackground,
  onAllowed,
  onBackground,
}: {
  tool: ToolServer['tools'][number];
  isFixed: boolean;
  isAllowed: boolean;
  isBackground: boolean;
  onAllowed: (isOn: boolean) => void;
  onBackground: (isOn: boolean) => void;
}) {
  return (
    <Stack gap={6}>
      <Group justify="space-between" align="flex-start" gap="sm">
        <Checkbox
          className="break"
          style={{ flex: '1 1 260px' }}
          label={<span className="mono">{tool.name}</span>}
          description={tool.description}
          disabled={isFixed}
          checked={isAllowed}
          onChange={(event) => onAllowed(event.currentTarget.checked)}
        />
        <Switch
          size="sm"
          label="In the background"
          aria-label={`${tool.name} in the background`}
          disabled={!isAllowed}
          checked={isBackground}
          onChange={(event) => onBackground(event.currentTarget.checked)}
        />
      </Group>
      <details>
        <Text component="summary" size="sm" c="dimmed" style={{ cursor: 'pointer' }}>
          Arguments and hash
        </Text>
        <Stack gap={6} pt={6}>
          <pre className="block">{JSON.stringify(tool.input_schema, null, 2)}</pre>
          <Text size="xs" c="dimmed" className="mono">
            {tool.hash}
          </Text>
        </Stack>
      </details>
    </Stack>
  );
}

function toggled(names: readonly string[], name: string, isOn: boolean): string[] {
  return isOn ? [...names, name] : names.filter((other) => other !== name);
}
