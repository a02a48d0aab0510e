/** Filters of a list. They are kept in the address, to make a view shareable. */
import { Button, Group, TextInput } from '@mantine/core';
import { useDebouncedCallback, useDisclosure } from '@mantine/hooks';
import type { ReactNode } from 'react';
import { useSearchParams } from 'wouter';

/** The filters of a page, by name; an empty one is not set. */
export interface FilterState<Name extends string> {
  readonly filters: Readonly<Record<Name, string>>;
  set(name: Name, value: string | null): void;
}

/** The filters in the address. */
export function useFilters<Name extends string>(
  names: readonly Name[],
): FilterState<Name> & { readonly isFiltered: boolean; clear(): void } {
  const [search, setSearch] = useSearchParams();
  const filters = Object.fromEntries(names.map((name) => [name, search.get(name) ?? ''])) as Record<
    Name,
    string
  >;
  const set = (name: Name, value: string | null) =>
    setSearch((before) => {
      const next = new URLSearchParams(before);
      if (value === null || value === '') next.delete(name);
      else next.set(name, value);
      return next;
    });
  return {
    filters,
    isFiltered: Object.values(filters).some((value) => value !== ''),
    set,
    clear: () => setSearch({}),
  };
}

/** The button of a page that shows a filtered list. */
export function ClearFilters({ clear }: { clear: () => void }) {
  return (
    <Button variant="default" onClick={clear}>
      Clear filters
    </Button>
  );
}

/** The fields of the filters. */
export function FilterBar({ children }: { children: ReactNode }) {
  const [isOpen, open] = useDisclosure(false);
  return (
    <>
      {/* On a phone the filters would fill the window, so they are closed at first. */}
      <Button variant="default" hiddenFrom="sm" aria-expanded={isOpen} onClick={open.toggle}>
        {isOpen ? 'Hide the filters' : 'Filters'}
      </Button>
      <Group
        className="filters"
        data-open={isOpen}
        align="flex-end"
        gap="xs"
        role="search"
        aria-label="Filters"
      >
        {children}
      </Group>
    </>
  );
}

interface TypedFilterProps<Name extends string> extends FilterState<Name> {
  readonly name: Name;
  readonly label: string;
  readonly placeholder?: string;
}

/** A filter to type; it is applied when typing pauses. */
export function TypedFilter<Name extends string>({ filters, set, name, ...input }: TypedFilterProps<Name>) {
  const later = useDebouncedCallback(set, 300);
  return (
    <TextInput
      {...input}
      w={140}
      defaultValue={filters[name]}
      onChange={(event) => later(name, event.currentTarget.value.trim())}
    />
  );
}
