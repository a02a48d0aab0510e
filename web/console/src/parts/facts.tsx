/** Facts about one thing: a label and a value each, side by side. */
import { SimpleGrid, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Id } from './copy.tsx';

export type Fact = readonly [label: string, value: ReactNode];

export function Facts({ facts }: { facts: readonly Fact[] }) {
  return (
    <SimpleGrid className="card" component="dl" cols={{ base: 2, sm: 3, md: 5 }} m={0}>
      {facts.map(([label, value]) => (
        <div key={label}>
          <Text component="dt" size="xs" c="dimmed">
            {label}
          </Text>
          <Text component="dd" size="sm" m={0} className="break">
            {value}
          </Text>
        </div>
      ))}
    </SimpleGrid>
  );
}

/** A telephone number that can be copied; no fact without one. */
export function numberFact(label: string, number: string | null | undefined): readonly Fact[] {
  return number ? [[label, <Id key={label} value={number} label="the number" />]] : [];
}
