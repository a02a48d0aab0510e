/** Searches the available numbers and buys one. */
import { Button, ScrollArea, Select, SimpleGrid, Stack, Table, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useState } from 'react';
import { call } from '../api/client.ts';
import { useChange, useRead } from '../api/queries.ts';
import type { AvailableNumbers } from '../api/types.ts';
import { dollars } from '../parts/format.ts';
import { Loaded } from '../parts/states.tsx';

const COUNTRIES = [
  { value: 'US', label: 'United States' },
  { value: 'CA', label: 'Canada' },
];

export function BuyNumber({ onDone }: { onDone: () => void }) {
  const [country, setCountry] = useState('US');
  const [area, setArea] = useState('');
  const [text, setText] = useState('');
  const [wantedArea] = useDebouncedValue(area, 300);
  const isArea = /^\d{3}$/.test(wantedArea);
  const query = { country_code: country, area_code: isArea ? wantedArea : '' };
  const found = useRead<AvailableNumbers>('/v1/agent/available-phone-numbers', { query });
  const offered = found.data?.available_phone_numbers;
  const shown = offered?.filter((number) => contains(number, text)) ?? [];
  const buy = useChange(
    (phone_number: string) => call('POST', '/v1/agent/phone-numbers', { provider: 'managed', phone_number }),
    {
      touches: ['/v1/agent/phone-numbers', '/v1/agent/available-phone-numbers', '/wallet'],
      done: 'The number is yours; choose an agent to answer it',
      onDone,
    },
  );
  return (
    <Stack>
      <SimpleGrid cols={{ base: 1, xs: 3 }}>
        <Select
          label="Country"
          allowDeselect={false}
          data={COUNTRIES}
          value={country}
          onChange={(value) => value && setCountry(value)}
        />
        <TextInput
          label="Area code"
          placeholder="Any"
          inputMode="numeric"
          maxLength={3}
          value={area}
          onChange={(event) => setArea(event.currentTarget.value)}
          error={wantedArea !== '' && !isArea && 'Three digits, such as 415'}
        />
        <TextInput
          label="Contains"
          placeholder="Digits or a place"
          data-autofocus
          maxLength={40}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
      </SimpleGrid>
      <Text size="sm" c="dimmed" role="status">
        {offered && resultOf({ offered: offered.length, shown: shown.length, isArea })}
      </Text>
      <Loaded query={found}>
        {() =>
          shown.length > 0 && (
            <ScrollArea.Autosize
              mah={320}
              type="auto"
              offsetScrollbars="present"
              viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': 'Numbers offered' }}
            >
              <Table verticalSpacing="xs">
                <Table.Tbody>
                  {shown.map((number) => (
                    <Table.Tr key={number.phone_number}>
                      <Table.Td className="tabular">
                        {number.phone_number}
                        <Text size="sm" c="dimmed">
                          {placeOf(number)}
                        </Text>
                      </Table.Td>
                      <Table.Td>{dollars(number.daily_price)} per day</Table.Td>
                      <Table.Td ta="right">
                        <Button
                          size="xs"
                          variant="default"
                          disabled={buy.isPending}
                          onClick={() => buy.mutate(number.phone_number)}
                          aria-label={`Buy ${number.phone_number}`}
                        >
                          Buy
                        </Button>
                      </Table.Td>
                    </Table.Tr>
                  ))}
                </Table.Tbody>
              </Table>
            </ScrollArea.Autosize>
          )
        }
      </Loaded>
    </Stack>
  );
}

type Offered = AvailableNumbers['available_phone_numbers'][number];

/** True if the number contains the text's digits in this order, or its place contains the text. */
function contains(number: Offered, text: string): boolean {
  const wanted = text.trim().toLowerCase();
  const digits = wanted.replace(/\D/g, '');
  return (
    wanted === '' ||
    placeOf(number).toLowerCase().includes(wanted) ||
    (/^[\d\s()+-]+$/.test(wanted) && digits !== '' && number.phone_number.includes(digits))
  );
}

function resultOf({ offered, shown, isArea }: { offered: number; shown: number; isArea: boolean }): string {
  const hint = isArea ? ' Try another area code.' : '';
  if (offered === 0) return `No numbers are available there.${hint}`;
  if (shown === 0) return `None of the numbers offered contains that.${hint}`;
  if (shown < offered) return `${shown} of the ${offered} numbers offered`;
  return offered === 1 ? '1 number is offered' : `${offered} numbers are offered`;
}

/** Locality and region, which is left out where the locality begins with it. */
function placeOf({ locality, region }: Offered): string {
  return locality.startsWith(region) ? locality : [locality, region].filter((part) => part !== '').join(', ');
}
