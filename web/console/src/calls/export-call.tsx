/** Exports an ended call to one file, with the parts that its user leaves out. */
import { Checkbox, Stack } from '@mantine/core';
import { useState } from 'react';
import { request } from '../api/client.ts';
import { DownloadButton } from './download-button.tsx';

const REDACTIONS = [
  ['caller_audio', 'Sound of the caller'],
  ['agent_audio', 'Sound of the agent'],
  ['transcript', 'Transcript, and the log that repeats it'],
  ['numbers', 'Phone numbers and metadata'],
] as const;

export function ExportCall({ sessionId }: { readonly sessionId: string }) {
  const [redact, setRedact] = useState<string[]>([]);
  const makeFile = async () => {
    const path = `/v1/agent/sessions/${sessionId}/call-file`;
    return (await request('POST', path, { redact })).blob();
  };
  return (
    <DownloadButton
      label="Export"
      title="Export this call to a file"
      text={
        'One signed file replays the call in any browser and proves that it was not changed. What you ' +
        'leave out is marked in it.'
      }
      name={`call-${sessionId}.html`}
      makeFile={makeFile}
    >
      <Checkbox.Group label="Leave out" value={redact} onChange={setRedact}>
        <Stack gap="xs" mt="xs">
          {REDACTIONS.map(([value, label]) => (
            <Checkbox key={value} value={value} label={label} />
          ))}
        </Stack>
      </Checkbox.Group>
    </DownloadButton>
  );
}
