/** Searches the available numbers and buys one. */
import { Button, Group, Input, SegmentedControl, Stack, Table, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useState } from 'react';
import { call } from '../api/client.ts';
import { useChange, useRead } from '../api/queries.ts';
import type { AvailableNumbers } from '../api/types.ts';
import { dollars } from '../parts/format.ts';
import { Loaded } from '../parts/states.tsx';

export function BuyNumber({ onDone }: { onDone: () => void }) {
  const [country, setCountry] = useState('US');
  const [area, setArea] = useState('');
  const [wantedArea] = useDebouncedValue(area, 300);
  const query = { country_code: country, area_code: /^\d{3}$/.test(wantedArea) ? wantedArea : '' };
  const found = useRead<AvailableNumbers>('/v1/agent/available-phone-numbers', { query });
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
      <Group align="flex-end">
        <Input.Wrapper label="Country" labelElement="div">
          <SegmentedControl
            aria-label="Country"
            display="flex"
            data={[
              { value: 'US', label: 'United States' },
              { value: 'CA', label: 'Canada' },
            ]}
            value={country}
            onChange={setCountry}
          />
        </Input.Wrapper>
        <TextInput
          label="Area code"
          placeholder="415"
          maxLength={3}
          w={100}
          value={area}
          onChange={(event) => setArea(event.currentTarget.value)}
        />
      </Group>
      <Loaded query={found}>
        {({ available_phone_numbers: numbers }) =>
          numbers.length === 0 ? (
            <Text c="dimmed">No numbers available there.</Text>
          ) : (
            <Table verticalSpacing="xs">
              <Table.Tbody>
                {numbers.slice(0, 12).map((number) => (
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
          )
        }
      </Loaded>
    </Stack>
  );
}

/** Locality and region, which is left out where the locality begins with it. */
function placeOf({ locality, region }: AvailableNumbers['available_phone_numbers'][number]): string {
  return locality.startsWith(region) ? locality : [locality, region].filter((part) => part !== '').join(', ');
}
