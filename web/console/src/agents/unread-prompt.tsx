/** Says that the agent's prompt is not read, and gives the agent a model that reads it with one click. */
import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { call } from '../api/client.ts';
import { useChange } from '../api/queries.ts';
import type { Agent } from '../api/types.ts';

interface Props {
  readonly agent: Agent;
  /** The unsaved part of the draft, which is saved with the model. */
  readonly changes: Record<string, unknown> | null;
}

export function UnreadPrompt({ agent, changes }: Props) {
  const path = `/v1/agent/agents/${agent.agent_id}`;
  const give = useChange(
    (model: string) => call('PATCH', `${path}/config`, { ...changes, llm: { model, custom: null } }),
    { touches: [path], done: 'Draft saved' },
  );
  const warning = agent.warnings?.find(({ code }) => code === 'prompt_not_read');
  if (!warning) return null;
  return (
    <Alert color="yellow" variant="outline" title="The prompt is not read">
      <Stack gap="sm">
        <Text size="sm">
          {warning.offered_models.length > 0
            ? 'This agent runs on local/demo, a set of rules. Choose a language model for it, then publish ' +
              'the draft.'
            : warning.message}
        </Text>
        {warning.offered_models.length > 0 && (
          <Group gap="xs">
            {warning.offered_models.map((model) => (
              <Button
                key={model}
                size="xs"
                variant="default"
                loading={give.isPending && give.variables === model}
                disabled={give.isPending}
                onClick={() => give.mutate(model)}
              >
                Use {model}
              </Button>
            ))}
          </Group>
        )}
      </Stack>
    </Alert>
  );
}
