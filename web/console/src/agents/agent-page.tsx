/** One agent: its editor, versions and access, a test call with the draft, a chat with the live version. */
import { Button, Group, Stack, Tabs, Text } from '@mantine/core';
import { useState } from 'react';
import { useLocation, useParams } from 'wouter';
import { call } from '../api/client.ts';
import { useChange, useRead } from '../api/queries.ts';
import type { Agent, AgentConfig } from '../api/types.ts';
import { Id } from '../parts/copy.tsx';
import { Page } from '../parts/page.tsx';
import { Loaded, LoadedPage } from '../parts/states.tsx';
import { TestCall } from '../test-call/test-call.tsx';
import { TryInWriting } from '../text-sessions/try-in-writing.tsx';
import { AccessTab } from './access-tab.tsx';
import { PublicationBadge } from './agents-page.tsx';
import { AnalysisTab } from './analysis-tab.tsx';
import { ConversationTab } from './conversation-tab.tsx';
import { changedSections, type EditorProps, type SetSection } from './draft.ts';
import { PhoneTab } from './phone-tab.tsx';
import { PromptTab } from './prompt-tab.tsx';
import { PublishButton } from './publish-button.tsx';
import { RegretSection } from './regret-section.tsx';
import { RehearseButton } from './rehearse-button.tsx';
import { OpenAlerts } from './scorecard-alerts.tsx';
import { ScorecardTab } from './scorecard-tab.tsx';
import { ToolsTab } from './tools-tab.tsx';
import { TuningSection } from './tuning-section.tsx';
import { UnreadPrompt } from './unread-prompt.tsx';
import { VersionsTab } from './versions-tab.tsx';
import { VoiceTab } from './voice-tab.tsx';

const TABS = [
  ['prompt', 'Prompt'],
  ['voice', 'Voice'],
  ['tools', 'Tools and knowledge'],
  ['conversation', 'Conversation'],
  ['phone', 'Phone'],
  ['analysis', 'Analysis and webhooks'],
  ['test', 'Test call'],
  ['write', 'In writing'],
  ['scorecard', 'Scorecard'],
  ['versions', 'Versions'],
  ['access', 'Access'],
] as const;

export default function AgentPage() {
  const { agentId = '' } = useParams<{ agentId: string }>();
  const agent = useRead<Agent>(`/v1/agent/agents/${agentId}`);
  const config = useRead<AgentConfig>(`/v1/agent/agents/${agentId}/config`);
  return (
    <LoadedPage query={agent} kind="agent" all={['/agents', 'All agents']}>
      {(profile) => (
        <Loaded query={config}>
          {(draft) => <Editor key={draft.config_hash} agent={profile} saved={draft} />}
        </Loaded>
      )}
    </LoadedPage>
  );
}

/** On a phone the tabs scroll: keeps the active tab in view. */
function showTab(tab: HTMLElement | null): void {
  tab?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
}

function Editor({ agent, saved }: { agent: Agent; saved: AgentConfig }) {
  const { tab: named } = useParams<{ tab?: string }>();
  const tab = TABS.find(([value]) => value === named)?.[0] ?? 'prompt';
  const [, navigate] = useLocation();
  const [config, setConfig] = useState(saved);
  const set: SetSection = (name, patch) =>
    setConfig((before) => ({ ...before, [name]: { ...before[name], ...patch } }));
  const path = `/v1/agent/agents/${agent.agent_id}`;
  const changes = changedSections(saved, config);
  const save = useChange(() => call('PATCH', `${path}/config`, changes), {
    touches: [path],
    done: 'Draft saved',
  });
  return (
    <Page
      title={agent.name}
      intro={
        <Group gap="sm" mt={4}>
          <PublicationBadge agent={agent} />
          <Id value={agent.agent_id} label="the agent’s id" />
        </Group>
      }
      actions={
        <>
          {changes && (
            <Button variant="default" onClick={() => setConfig(saved)}>
              Discard
            </Button>
          )}
          <Button
            variant={changes ? 'filled' : 'default'}
            disabled={!changes}
            loading={save.isPending}
            onClick={() => save.mutate()}
          >
            Save draft
          </Button>
          <RehearseButton agent={agent} isDirty={changes !== null} />
          <PublishButton agent={agent} draft={saved} isDirty={changes !== null} />
        </>
      }
    >
      <UnreadPrompt agent={agent} changes={changes} />
      <Tabs value={tab} onChange={(to) => navigate(`/agents/${agent.agent_id}/${to}`)} keepMounted={false}>
        <Tabs.List mb="lg" className="tabs">
          {TABS.map(([value, label]) => (
            <Tabs.Tab
              key={value}
              value={value}
              px="xs"
              ref={value === tab ? showTab : undefined}
              {...(value === 'scorecard' ? { rightSection: <OpenAlerts agentId={agent.agent_id} /> } : {})}
            >
              <Text size="sm" style={{ whiteSpace: 'nowrap' }}>
                {label}
              </Text>
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Panels agent={agent} saved={saved} editor={{ config, set }} isDirty={changes !== null} />
      </Tabs>
    </Page>
  );
}

interface PanelsProps {
  readonly agent: Agent;
  readonly saved: AgentConfig;
  readonly editor: EditorProps;
  readonly isDirty: boolean;
}

function Panels({ agent, saved, editor, isDirty }: PanelsProps) {
  return (
    <>
      <Tabs.Panel value="prompt">
        <PromptTab {...editor} />
      </Tabs.Panel>
      <Tabs.Panel value="voice">
        <VoiceTab {...editor} />
      </Tabs.Panel>
      <Tabs.Panel value="tools">
        <ToolsTab {...editor} />
      </Tabs.Panel>
      <Tabs.Panel value="conversation">
        <Stack>
          <ConversationTab {...editor} />
          <TuningSection draft={saved} isDirty={isDirty} />
          <RegretSection agent={agent} />
        </Stack>
      </Tabs.Panel>
      <Tabs.Panel value="phone">
        <PhoneTab {...editor} />
      </Tabs.Panel>
      <Tabs.Panel value="analysis">
        <AnalysisTab {...editor} />
      </Tabs.Panel>
      <Tabs.Panel value="test">
        <TestCall agent={agent} isDirty={isDirty} />
      </Tabs.Panel>
      <Tabs.Panel value="write">
        <TryInWriting agent={agent} />
      </Tabs.Panel>
      <Tabs.Panel value="scorecard">
        <ScorecardTab agent={agent} editor={editor} />
      </Tabs.Panel>
      <Tabs.Panel value="versions">
        <VersionsTab agent={agent} draft={saved} />
      </Tabs.Panel>
      <Tabs.Panel value="access">
        <AccessTab agent={agent} />
      </Tabs.Panel>
    </>
  );
}
