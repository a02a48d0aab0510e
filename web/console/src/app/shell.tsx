/** Frame of every page: navigation, the current account, the state of the live stream, and sign-out. */
import {
  ActionIcon,
  AppShell,
  Burger,
  Group,
  NavLink,
  ScrollArea,
  Text,
  Tooltip,
  useComputedColorScheme,
  useMantineColorScheme,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import {
  IconApi,
  IconBook2,
  IconChartBar,
  IconChecklist,
  IconEar,
  IconHash,
  IconHome,
  IconKey,
  IconLogout,
  IconMessage,
  IconMessages,
  IconMoon,
  IconPhone,
  IconPhoneOff,
  IconPhoneOutgoing,
  IconRobot,
  IconServer,
  IconSun,
  IconTool,
  IconWallet,
  IconWebhook,
} from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import { useLiveEvents } from '../api/live-events.ts';
import { useRead } from '../api/queries.ts';
import type { Account } from '../api/types.ts';

const SECTIONS = [
  {
    title: 'Watch',
    links: [
      ['/', 'Overview', IconHome],
      ['/calls', 'Calls', IconPhone],
      ['/text-sessions', 'Text sessions', IconMessages],
      ['/batch-calls', 'Batch calls', IconPhoneOutgoing],
      ['/analytics', 'Analytics', IconChartBar],
    ],
  },
  {
    title: 'Build',
    links: [
      ['/agents', 'Agents', IconRobot],
      ['/tools', 'Tools', IconTool],
      ['/tool-servers', 'Tool servers', IconServer],
      ['/knowledge', 'Knowledge', IconBook2],
      ['/numbers', 'Phone numbers', IconHash],
      ['/agent-tests', 'Agent tests', IconChecklist],
    ],
  },
  {
    title: 'Account',
    links: [
      ['/webhooks', 'Webhooks', IconWebhook],
      ['/refusals', 'Refused calls', IconPhoneOff],
      ['/wallet', 'Wallet', IconWallet],
      ['/keys', 'API keys', IconKey],
      ['/speech-models', 'Speech models', IconEar],
    ],
  },
] as const;

export function Shell({ children, onSignOut }: { children: ReactNode; onSignOut: () => void }) {
  const [isOpen, menu] = useDisclosure(false);
  const isLive = useLiveEvents();
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 220, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding="md"
    >
      <a className="skip-link" href="#content">
        Skip to the content
      </a>
      <AppShell.Header px="md" style={{ background: 'var(--card)' }}>
        <Group h="100%" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger
              opened={isOpen}
              onClick={menu.toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label={isOpen ? 'Close the menu' : 'Open the menu'}
            />
            <Link href="/" className="row-link" onClick={menu.close}>
              <Group gap="xs" wrap="nowrap">
                <img src="/icon.svg" alt="" width="26" height="26" />
                Parley
              </Group>
            </Link>
          </Group>
          <Tools isLive={isLive} onSignOut={onSignOut} />
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" style={{ background: 'var(--card)' }} aria-label="Console">
        <AppShell.Section grow component={ScrollArea}>
          <Navigation onGo={menu.close} />
        </AppShell.Section>
        <AppShell.Section pt="xs">
          <NavLink
            component="a"
            href="/"
            label="Talk page"
            className="nav-link"
            leftSection={<IconMessage size={18} stroke={1.6} aria-hidden />}
          />
          <NavLink
            component="a"
            href="/docs"
            label="API reference"
            className="nav-link"
            leftSection={<IconApi size={18} stroke={1.6} aria-hidden />}
          />
        </AppShell.Section>
      </AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1}>
        {children}
      </AppShell.Main>
    </AppShell>
  );
}

/** Pages of the operator's own. */
const OPERATOR_PATHS: readonly string[] = ['/speech-models'];

function Navigation({ onGo }: { onGo: () => void }) {
  const [location] = useLocation();
  const isOperator = useRead<Account>('/v1/account').data?.is_operator === true;
  return SECTIONS.map(({ title, links }) => (
    <div key={title}>
      <Text size="xs" c="dimmed" fw={600} px="sm" pt="xs" pb={2}>
        {title}
      </Text>
      {links.map(([path, label, Icon]) => {
        if (OPERATOR_PATHS.includes(path) && !isOperator) return null;
        const isHere = path === '/' ? location === '/' : location.startsWith(path);
        return (
          <NavLink
            key={path}
            component={Link}
            href={path}
            label={label}
            active={isHere}
            aria-current={isHere ? 'page' : undefined}
            leftSection={<Icon size={18} stroke={1.6} aria-hidden />}
            onClick={onGo}
            className="nav-link"
          />
        );
      })}
    </div>
  ));
}

function Tools({ isLive, onSignOut }: { isLive: boolean; onSignOut: () => void }) {
  const account = useRead<Account>('/v1/account');
  const { setColorScheme } = useMantineColorScheme();
  const isDark = useComputedColorScheme('light') === 'dark';
  const other = isDark ? 'light' : 'dark';
  return (
    <Group gap="xs" wrap="nowrap">
      <Tooltip
        label={
          isLive
            ? 'Calls appear here as they happen'
            : 'Not connected to live events; pages may be slightly out of date'
        }
      >
        <Group gap={6} wrap="nowrap" mr="xs" visibleFrom="xs">
          <span className="live-dot" data-off={!isLive} aria-hidden />
          <Text size="sm" c="dimmed">
            {isLive ? 'Live' : 'Not live'}
          </Text>
        </Group>
      </Tooltip>
      <Text size="sm" fw={500} visibleFrom="sm">
        {account.data?.name}
      </Text>
      <ActionIcon
        variant="subtle"
        color="gray"
        c="var(--mantine-color-text)"
        aria-label={`Switch to ${other} colours`}
        onClick={() => setColorScheme(other)}
      >
        {isDark ? <IconSun size={18} /> : <IconMoon size={18} />}
      </ActionIcon>
      <ActionIcon
        variant="subtle"
        color="gray"
        c="var(--mantine-color-text)"
        aria-label="Sign out"
        onClick={onSignOut}
      >
        <IconLogout size={18} />
      </ActionIcon>
    </Group>
  );
}
