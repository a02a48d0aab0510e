/** Shown while agents cannot hear: what the operator can do about it, here. */
import { Alert, Stack, Text } from '@mantine/core';
import { IconEarOff } from '@tabler/icons-react';
import { useState } from 'react';
import { Link } from 'wouter';
import { useRead } from '../api/queries.ts';
import type { Account, Models } from '../api/types.ts';
import { ModelDownload } from './model-download.tsx';
import { useSpeechModels } from './use-speech-models.ts';

const ANY_LOCAL = 'local:auto';

export function LetItHear() {
  const account = useRead<Account>('/v1/account');
  const offered = useRead<Models>('/v1/agent/models');
  const isOperator = account.data?.is_operator === true;
  const models = useSpeechModels(isOperator);
  // What was started here is shown to its end.
  const [wasDeaf, setWasDeaf] = useState(false);
  const isDeaf = offered.data !== undefined && !hears(offered.data);
  if (isDeaf && !wasDeaf) setWasDeaf(true);
  if (!wasDeaf || account.data === undefined) return null;
  const recogniser = models.data?.models.find(({ kind }) => kind === 'recogniser');
  return (
    <Alert
      color={isDeaf ? 'yellow' : 'teal'}
      variant="outline"
      icon={<IconEarOff aria-hidden />}
      title={isDeaf ? 'Agents cannot hear yet' : 'Agents hear from the next call on'}
    >
      <Stack gap="xs">
        {isDeaf && (
          <Text size="sm">
            No speech recogniser is installed: callers can press keys, and web callers can type.
            {isOperator ? '' : ' The operator of this installation can download one.'}
          </Text>
        )}
        {recogniser && <ModelDownload model={recogniser} label="Let it hear" />}
        {isOperator && (
          <Link className="text-link" href="/speech-models">
            Other languages and voices
          </Link>
        )}
      </Stack>
    </Alert>
  );
}

/** True unless the default is a local recogniser and none is installed. */
function hears({ asr }: Models): boolean {
  const chosen = asr.find((model) => model.default)?.id ?? ANY_LOCAL;
  return chosen !== ANY_LOCAL || asr.some(({ id }) => id.startsWith('local:') && id !== ANY_LOCAL);
}
