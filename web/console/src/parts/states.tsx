/** What a page shows while loading, when empty and on errors, and the wrapper that selects between them. */
import { Alert, Button, Center, Loader, Skeleton, Stack, Text, Title } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { ApiError } from '../api/client.ts';
import { type ListQuery, messageOf } from '../api/queries.ts';
import { Page } from './page.tsx';

/** A page that is loading. */
export function Loading() {
  return (
    <Center py={80}>
      <Loader aria-label="Loading" />
    </Center>
  );
}

/** An error and kind can be done about it. */
export function Problem({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  return (
    <Alert
      color="red"
      variant="outline"
      icon={<IconAlertTriangle />}
      title="This could not be loaded"
      role="alert"
    >
      <Stack gap="sm" align="flex-start">
        <Text size="sm">{messageOf(error)}</Text>
        {onRetry && (
          <Button size="xs" variant="default" onClick={onRetry}>
            Try again
          </Button>
        )}
      </Stack>
    </Alert>
  );
}

/** An empty page with a hint on how to fill it. */
export function Empty({
  title,
  children,
  action,
}: {
  title: string;
  children?: ReactNode;
  action?: ReactNode;
}) {
  return (
    <Stack className="card" align="center" gap="xs" py={48} ta="center">
      <Title order={2} size="h4">
        {title}
      </Title>
      {children && (
        <Text c="dimmed" maw={460}>
          {children}
        </Text>
      )}
      {action}
    </Stack>
  );
}

/** Shows a query's response, or its loading or error state. */
export function Loaded<Answer>({
  query,
  children,
}: {
  query: UseQueryResult<Answer>;
  children: (answer: Answer) => ReactNode;
}) {
  if (query.data !== undefined) return children(query.data);
  if (query.error) return <Problem error={query.error} onRetry={() => void query.refetch()} />;
  return <Lines />;
}

/** Shows the page of an item, or an explanation of why it is missing with a link to the others. */
export function LoadedPage<Answer>({
  query,
  kind,
  all: [href, label],
  children,
}: {
  query: UseQueryResult<Answer>;
  kind: string;
  all: readonly [href: string, label: string];
  children: (answer: Answer) => ReactNode;
}) {
  if (query.data !== undefined || !query.error) return <Loaded query={query}>{children}</Loaded>;
  const isMissing = query.error instanceof ApiError && query.error.status === 404;
  return (
    <Page title={isMissing ? `No such ${kind}` : `This ${kind} cannot be shown`}>
      {isMissing ? (
        <Text>It was deleted, belongs to another account, or the address is incomplete.</Text>
      ) : (
        <Problem error={query.error} onRetry={() => void query.refetch()} />
      )}
      <Link className="text-link" href={href}>
        {label}
      </Link>
    </Page>
  );
}

/** Shows a list's rows with a button for more, or its loading or error state; shows `empty` without rows. */
export function LoadedList<Row>({
  list,
  empty,
  children,
}: {
  list: ListQuery<Row>;
  empty: ReactNode;
  children: (rows: readonly Row[]) => ReactNode;
}) {
  const { rows } = list;
  if (rows === undefined)
    return list.error ? <Problem error={list.error} onRetry={() => void list.refetch()} /> : <Lines />;
  if (rows.length === 0) return empty;
  return (
    <Stack>
      {children(rows)}
      {list.hasNextPage && (
        <Button
          variant="default"
          loading={list.isFetchingNextPage}
          onClick={() => void list.fetchNextPage()}
          style={{ alignSelf: 'center' }}
        >
          Show more
        </Button>
      )}
    </Stack>
  );
}

function Lines() {
  return (
    <Stack className="card" gap="md" role="status" aria-label="Loading">
      {[100, 92, 96, 70].map((width) => (
        <Skeleton key={width} height={18} width={`${width}%`} />
      ))}
    </Stack>
  );
}
