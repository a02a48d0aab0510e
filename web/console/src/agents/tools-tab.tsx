/** The agent's tools, tool servers and knowledge sources. */
import { Anchor, Checkbox, Select, Stack, Switch, Text, Textarea } from '@mantine/core';
import { Link } from 'wouter';
import { useList } from '../api/queries.ts';
import type { AgentConfig, KnowledgeList, ToolList } from '../api/types.ts';
import { bytes } from '../parts/format.ts';
import { Section } from '../parts/page.tsx';
import { LoadedList } from '../parts/states.tsx';
import type { EditorProps } from './draft.ts';
import { ToolServersSection } from './tool-servers-section.tsx';

const FAREWELLS = [
  { value: 'generated', label: 'In its own words' },
  { value: 'fixed', label: 'Always the same words' },
  { value: 'off', label: 'None' },
];

export function ToolsTab({ config, set }: EditorProps) {
  return (
    <Stack>
      <ToolsSection config={config} set={set} />
      <ToolServersSection config={config} set={set} />
      <HangUp config={config} set={set} />
      <KnowledgeSection config={config} set={set} />
    </Stack>
  );
}

function ToolsSection({ config, set }: EditorProps) {
  const { tools } = config;
  const list = useList<ToolList, ToolList['tools'][number]>('/v1/agent/tools', (answer) => answer.tools, {
    page_size: 100,
  });
  return (
    <Section
      title="Tools"
      aside={
        <Switch
          label="May use tools"
          checked={tools.enabled}
          onChange={(event) => set('tools', { enabled: event.currentTarget.checked })}
        />
      }
    >
      <LoadedList list={list} empty={<Nothing kind="tool" to="/tools" />}>
        {(rows) => (
          <Stack gap="sm">
            {rows.map((tool) => (
              <Checkbox
                key={tool.tool_id}
                className="break"
                label={tool.name}
                description={tool.description}
                disabled={!tools.enabled}
                checked={tools.tool_ids.includes(tool.tool_id)}
                onChange={(event) =>
                  set('tools', {
                    tool_ids: toggle(tools.tool_ids, tool.tool_id, event.currentTarget.checked),
                  })
                }
              />
            ))}
          </Stack>
        )}
      </LoadedList>
    </Section>
  );
}

function HangUp({ config, set }: EditorProps) {
  const system = config.tools.system_tools;
  const setSystem = (patch: Partial<AgentConfig['tools']['system_tools']>) =>
    set('tools', { system_tools: { ...system, ...patch } });
  return (
    <Section title="Hanging up">
      <Stack>
        <Switch
          label="The agent may end the call"
          checked={system.hang_up_call}
          onChange={(event) => setSystem({ hang_up_call: event.currentTarget.checked })}
        />
        {system.hang_up_call && (
          <>
            <Select
              label="Farewell"
              data={FAREWELLS}
              allowDeselect={false}
              value={system.hang_up_call_farewell_mode}
              onChange={(mode) =>
                setSystem({
                  hang_up_call_farewell_mode: (mode ??
                    'generated') as typeof system.hang_up_call_farewell_mode,
                })
              }
            />
            {system.hang_up_call_farewell_mode === 'fixed' && (
              <Textarea
                label="Farewell message"
                maxLength={500}
                value={system.hang_up_call_farewell_message}
                onChange={(event) => setSystem({ hang_up_call_farewell_message: event.currentTarget.value })}
              />
            )}
            <Switch
              label="Not while it is asking a question"
              checked={system.hang_up_call_refuse_questions}
              onChange={(event) => setSystem({ hang_up_call_refuse_questions: event.currentTarget.checked })}
            />
          </>
        )}
      </Stack>
    </Section>
  );
}

function KnowledgeSection({ config, set }: EditorProps) {
  const { knowledge_base: knowledge } = config;
  const list = useList<KnowledgeList, KnowledgeList['knowledge_sources'][number]>(
    '/v1/agent/knowledge-sources',
    (answer) => answer.knowledge_sources,
    { page_size: 100 },
  );
  return (
    <Section
      title="Knowledge"
      aside={
        <Switch
          label="Use knowledge"
          checked={knowledge.enabled}
          onChange={(event) => set('knowledge_base', { enabled: event.currentTarget.checked })}
        />
      }
    >
      <LoadedList list={list} empty={<Nothing kind="knowledge source" to="/knowledge" />}>
        {(rows) => (
          <Stack gap="sm">
            {rows.map((source) => (
              <Checkbox
                key={source.knowledge_source_id}
                label={source.name}
                description={`${source.file_name} · ${bytes(source.size_bytes)}`}
                checked={knowledge.knowledge_source_ids.includes(source.knowledge_source_id)}
                onChange={(event) =>
                  set('knowledge_base', {
                    knowledge_source_ids: toggle(
                      knowledge.knowledge_source_ids,
                      source.knowledge_source_id,
                      event.currentTarget.checked,
                    ),
                    ...(event.currentTarget.checked ? { enabled: true } : {}),
                  })
                }
              />
            ))}
          </Stack>
        )}
      </LoadedList>
    </Section>
  );
}

function Nothing({ kind, to }: { kind: string; to: string }) {
  return (
    <Text c="dimmed">
      There is no {kind} yet.{' '}
      <Anchor component={Link} href={to} underline="always">
        Create one
      </Anchor>{' '}
      and attach it here.
    </Text>
  );
}

function toggle(ids: readonly string[], id: string, isOn: boolean): string[] {
  return isOn ? [...ids, id] : ids.filter((other) => other !== id);
}
