/** The download of one model: its button, its progress, and what this machine keeps in real time. */
import { Alert, Button, Group, Progress, Stack, Text } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { megabytes } from '../parts/format.ts';
import { isUnderWay, type SpeechModel, useDownload } from './use-speech-models.ts';

export function ModelDownload({ model, label }: { model: SpeechModel; label: string }) {
  const { start, stop } = useDownload(model);
  const isPart = model.state === 'absent' && model.received_bytes > 0;
  return (
    <Stack gap="xs">
      {model.error !== null && (
        <Alert color="red" variant="outline" role="alert" style={{ overflowWrap: 'anywhere' }}>
          {model.error}
        </Alert>
      )}
      {model.state === 'absent' && (
        <Group gap="sm">
          <Button
            leftSection={<IconDownload size={16} aria-hidden />}
            loading={start.isPending}
            onClick={() => start.mutate()}
          >
            {isPart ? 'Resume' : label}: {megabytes(model.bytes)}
          </Button>
          {isPart && <Text c="dimmed">{megabytes(model.received_bytes)} are here</Text>}
        </Group>
      )}
      {isUnderWay(model) && (
        <>
          <Progress
            value={(100 * model.received_bytes) / model.bytes}
            aria-label={`Download of ${model.name}`}
            animated={model.state === 'checking'}
          />
          <Group gap="sm">
            <Text role="status" className="tabular">
              {model.state === 'checking'
                ? 'Verifying, loading and measuring…'
                : `${megabytes(model.received_bytes)} of ${megabytes(model.bytes)}`}
            </Text>
            <Button size="xs" variant="default" loading={stop.isPending} onClick={() => stop.mutate()}>
              Cancel
            </Button>
          </Group>
        </>
      )}
      {model.state === 'ready' && <Text role="status">{capacity(model)}</Text>}
    </Stack>
  );
}

/** How many at once a core keeps in real time. */
function capacity({ kind, real_time_factor: factor }: SpeechModel): string {
  if (factor === null) return 'In use from the next call on.';
  if (factor > 1) return 'In use, but this machine is too slow for it: it falls behind in every call.';
  const count = Math.floor(1 / factor);
  const of = kind === 'recogniser' ? (count === 1 ? 'caller' : 'callers') : count === 1 ? 'call' : 'calls';
  return (
    `In use from the next call on. One core of this machine keeps up with ${count} ${of} at once ` +
    `(real-time factor ${factor}).`
  );
}
