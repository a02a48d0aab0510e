/** Makes a voice test of an ended call, as a file for `parley test --voice`. */
import { Code, Select, TextInput } from '@mantine/core';
import { useState } from 'react';
import { request } from '../api/client.ts';
import { DownloadButton } from './download-button.tsx';

const FIRST = 'first';
const TOOL = 'tool_not_called';
const FAULTS = [
  { value: FIRST, label: 'The first that the call has' },
  { value: 'cut_off', label: 'The agent cut the caller off' },
  { value: 'missed_interruption', label: 'It spoke on when it was interrupted' },
  { value: 'silence', label: 'It let the caller wait' },
  { value: TOOL, label: 'It did not call a tool' },
];

export function MakeTest({ sessionId }: { readonly sessionId: string }) {
  const [fault, setFault] = useState(FIRST);
  const [tool, setTool] = useState('');
  const makeFile = async () => {
    const query = new URLSearchParams({
      ...(fault === FIRST ? {} : { fault }),
      ...(fault === TOOL ? { tool } : {}),
    });
    const path = `/v1/agent/sessions/${sessionId}/voice-test?${query}`;
    const test = JSON.stringify(await (await request('GET', path)).json(), null, 2);
    return new Blob([`${test}\n`], { type: 'application/json' });
  };
  return (
    <DownloadButton
      label="Make a test"
      title="Make a test of this call"
      text={
        <>
          A file with the caller’s lines, pauses and interruptions. Run it with{' '}
          <Code>parley test --voice</Code>: it fails while the fault is there. Numbers, e-mail addresses and
          names of a recognisable form are replaced; read it before you share it.
        </>
      }
      name={`voice-test-${sessionId}.json`}
      makeFile={makeFile}
      isIncomplete={fault === TOOL && tool === ''}
    >
      <Select
        label="What must not happen again"
        data={FAULTS}
        value={fault}
        onChange={(value) => setFault(value ?? FIRST)}
        allowDeselect={false}
      />
      {fault === TOOL && (
        <TextInput
          label="Function name of the tool"
          placeholder="book_table"
          value={tool}
          onChange={({ currentTarget }) => setTool(currentTarget.value)}
        />
      )}
    </DownloadButton>
  );
}
