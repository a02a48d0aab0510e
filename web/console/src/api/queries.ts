/**
 * How pages read data: one cached query per address, lists page by page, and changes that reload the affected
 * pages.
 */
import { notifications } from '@mantine/notifications';
import {
  type QueryKey,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import { ApiError, call, isKeyRefusal, type Query, withQuery } from './client.ts';

/** Fields of every list response besides its rows. */
interface PageInfo {
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

/**
 * Reads an address; `refetchMs` repeats it at this interval, which may depend on the last answer. While
 * `isPaused` nothing is read, for whatever reason, and what was read last stays. `unsetReason` is that of the
 * refusal which says that nothing is set there: the answer is null then.
 */
export function useRead<Answer>(
  path: string | null,
  options: {
    readonly query?: Query;
    readonly refetchMs?: number | false | ((last: Answer | undefined) => number | false);
    readonly isPaused?: boolean;
    readonly unsetReason?: string;
  } = {},
) {
  const { refetchMs, isPaused = false, unsetReason } = options;
  return useQuery<Answer>({
    queryKey: [path, options.query ?? {}],
    queryFn: ({ signal }) =>
      call<Answer>('GET', withQuery(path ?? '', options.query ?? {}), undefined, signal).catch(
        (error: unknown) => {
          if (unsetReason !== undefined && error instanceof ApiError && error.reason === unsetReason)
            return null as Answer;
          throw error;
        },
      ),
    enabled: path !== null && !isPaused,
    ...(refetchMs === undefined
      ? {}
      : {
          refetchInterval: typeof refetchMs === 'function' ? ({ state }) => refetchMs(state.data) : refetchMs,
        }),
  });
}

/** Reads an address when `refetch` is called, and only then: the answer costs the server work. */
export function useAsk<Answer>(path: string, query: Query) {
  return useQuery<Answer>({
    queryKey: [path, query, 'asked'],
    queryFn: ({ signal }) => call<Answer>('GET', withQuery(path, query), undefined, signal),
    enabled: false,
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** Reads a list page by page; `rows` contains the rows of all pages loaded so far. */
export function useList<Answer extends PageInfo, Row>(
  path: string,
  rowsOf: (answer: Answer) => readonly Row[],
  query: Query = {},
) {
  const list = useInfiniteQuery({
    queryKey: [path, query, 'list'],
    queryFn: ({ pageParam, signal }) =>
      call<Answer>('GET', withQuery(path, { ...query, cursor: pageParam }), undefined, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => (last.has_more ? last.next_cursor : null),
  });
  return { ...list, rows: list.data?.pages.flatMap((page) => rowsOf(page)) };
}

/** The part of a list query that components use. */
export type ListQuery<Row> = Pick<
  ReturnType<typeof useList<PageInfo, Row>>,
  'rows' | 'error' | 'refetch' | 'hasNextPage' | 'fetchNextPage' | 'isFetchingNextPage'
>;

/** Makes a change, shows its outcome and reloads every address that starts with one of `touches`. */
export function useChange<Input = void, Answer = unknown>(
  change: (input: Input) => Promise<Answer>,
  options: {
    readonly touches: readonly string[];
    readonly done?: string;
    readonly onDone?: (answer: Answer) => void;
    readonly quiet?: boolean;
  },
) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSuccess: async (answer) => {
      await client.invalidateQueries({ predicate: ({ queryKey }) => isTouched(queryKey, options.touches) });
      if (options.done !== undefined) notifications.show({ message: options.done, color: 'teal' });
      options.onDone?.(answer);
    },
    onError: (error) => {
      // Reloading the account detects the rejected key and shows the error.
      if (isKeyRefusal(error)) void client.invalidateQueries({ queryKey: ['/v1/account'] });
      if (!options.quiet)
        notifications.show({
          title: 'That did not work',
          message: messageOf(error),
          color: 'red',
          autoClose: 10_000,
        });
    },
  });
}

/** The message to show for an error. */
export function messageOf(error: unknown): string {
  return error instanceof ApiError ? error.message : 'Something went wrong on this page. Reload it.';
}

function isTouched([path]: QueryKey, touches: readonly string[]): boolean {
  return typeof path === 'string' && touches.some((prefix) => path.startsWith(prefix));
}
