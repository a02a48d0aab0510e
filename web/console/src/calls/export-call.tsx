/** Exports an ended call to one file, with the parts that its user leaves out. */
import { Button, Checkbox, Modal, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { request } from '../api/client.ts';
import { messageOf, useChange } from '../api/queries.ts';
import { saveFile } from '../parts/save-file.ts';

const REDACTIONS = [
  ['caller_audio', 'Sound of the caller'],
  ['agent_audio', 'Sound of the agent'],
  ['transcript', 'Transcript, and the log that repeats it'],
  ['numbers', 'Phone numbers and metadata'],
] as const;

export function ExportCall({ sessionId }: { readonly sessionId: string }) {
  const [isOpen, setOpen] = useState(false);
  const [redact, setRedact] = useState<string[]>([]);
  const exporting = useChange(
    async () => {
      const path = `/v1/agent/sessions/${sessionId}/call-file`;
      saveFile(await (await request('POST', path, { redact })).blob(), `call-${sessionId}.html`);
    },
    { touches: [], quiet: true, onDone: () => setOpen(false) },
  );
  return (
    <>
      <Button variant="default" onClick={() => setOpen(true)}>
        Export
      </Button>
      <Modal opened={isOpen} onClose={() => setOpen(false)} title="Export this call to a file">
        <Stack>
          <Text size="sm">
            One signed file replays the call in any browser and proves that it was not changed. What you leave
            out is marked in it.
          </Text>
          <Checkbox.Group label="Leave out" value={redact} onChange={setRedact}>
            <Stack gap="xs" mt="xs">
              {REDACTIONS.map(([value, label]) => (
                <Checkbox key={value} value={value} label={label} />
              ))}
            </Stack>
          </Checkbox.Group>
          <Button loading={exporting.isPending} onClick={() => exporting.mutate()}>
            Download
          </Button>
          <div role="status">{exporting.error && <Text size="sm">{messageOf(exporting.error)}</Text>}</div>
        </Stack>
      </Modal>
    </>
  );
}
