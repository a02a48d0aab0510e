/** What went wrong in a call, as far as facts tell: chips that lead to the moment. */
import { Button, Group, Stack, Text, Tooltip } from '@mantine/core';
import { Link } from 'wouter';
import type { SessionDetail } from '../api/types.ts';
import { duration, words } from '../parts/format.ts';
import { Section } from '../parts/page.tsx';
import { pathOfMoment } from './linked-moment.ts';

export function CallTags({ session }: { session: SessionDetail }) {
  const { tags = [], session_id: id } = session;
  if (tags.length === 0) return null;
  return (
    <Section title="Noticed">
      <Stack gap="xs">
        {tags.map(({ tag, count, moments }) => (
          <Group key={tag} gap="xs">
            <Text size="sm" fw={600} miw={130}>
              {words(tag)}
              {count > 1 && ` (${count})`}
            </Text>
            {moments.map(({ at_ms, evidence }, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: two moments may be alike, and none is ever moved.
              <Tooltip key={index} label={evidence} multiline maw={420}>
                <Button
                  component={Link}
                  href={pathOfMoment(id, at_ms / 1_000)}
                  variant="default"
                  size="compact-xs"
                  aria-label={`${words(tag)} at ${duration(at_ms / 1_000)}: ${evidence}`}
                >
                  {duration(at_ms / 1_000)}
                </Button>
              </Tooltip>
            ))}
          </Group>
        ))}
      </Stack>
    </Section>
  );
}
