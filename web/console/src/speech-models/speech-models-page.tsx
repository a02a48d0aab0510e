/** The operator's page of recognisers and voices that run on this machine. */
import { SimpleGrid, Stack, Text } from '@mantine/core';
import { useRead } from '../api/queries.ts';
import type { Account } from '../api/types.ts';
import { Page, Section } from '../parts/page.tsx';
import { Empty, Loaded } from '../parts/states.tsx';
import { ModelDownload } from './model-download.tsx';
import { type SpeechModel, useSpeechModels } from './use-speech-models.ts';

const LANGUAGE_NAMES = new Intl.DisplayNames(undefined, { type: 'language' });

export default function SpeechModelsPage() {
  const account = useRead<Account>('/v1/account');
  return (
    <Page
      title="Speech models"
      intro="They run on this machine, without a vendor. Calls use a model from the moment it is here."
    >
      <Loaded query={account}>
        {({ is_operator }) =>
          is_operator ? (
            <Kinds />
          ) : (
            <Empty title="For the operator">The operator’s key is needed to download models.</Empty>
          )
        }
      </Loaded>
    </Page>
  );
}

function Kinds() {
  const models = useSpeechModels(true);
  return (
    <Loaded query={models}>
      {({ models: all, hears_speech }) => (
        <>
          {!hears_speech && <Text>Agents cannot hear yet: download a recogniser of their language.</Text>}
          <Section title="Recognisers">
            <Cards
              models={all.filter(({ kind }) => kind === 'recogniser')}
              label={({ languages }) => `Let it hear ${namesOf(languages)}`}
            />
          </Section>
          <Section title="Voices">
            <Cards models={all.filter(({ kind }) => kind === 'voice')} label={() => 'Download'} />
          </Section>
        </>
      )}
    </Loaded>
  );
}

function Cards({ models, label }: { models: readonly SpeechModel[]; label: (model: SpeechModel) => string }) {
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="lg">
      {models.map((model) => (
        <Stack key={model.model_id} gap="xs" component="article" aria-label={model.name}>
          <div>
            <Text fw={600}>{model.name}</Text>
            <Text size="sm" c="dimmed">
              {namesOf(model.languages)} · {model.sample_rate_hz / 1_000} kHz · {model.licence}
            </Text>
          </div>
          <ModelDownload model={model} label={label(model)} />
        </Stack>
      ))}
    </SimpleGrid>
  );
}

function namesOf(languages: readonly string[]): string {
  return languages.map((code) => LANGUAGE_NAMES.of(code) ?? code).join(', ');
}
