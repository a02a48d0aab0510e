/** The addresses that the parts of the chart announce, and how an ingress reaches control planes. */
import { expect, it } from 'vitest';
import { readSettingsAndFiles } from '#config/secret-files.ts';
import { describeWhereThere } from '#test/needs.ts';
import { type KubernetesObject, mount, RenderedChart, type Values } from './rendered-chart.ts';

const PUBLIC_IPS = { 'node-1': '203.0.113.1' };
const NGINX = 'nginx.ingress.kubernetes.io/backend-protocol';
const TRAEFIK = 'traefik.ingress.kubernetes.io/service.serversscheme';

/** The settings of a worker on a node that `network.publicIps` does not name. */
function announcedElsewhere(values: Values, example: string) {
  const chart = new RenderedChart({ network: { publicIps: PUBLIC_IPS }, ...values }, example);
  const worker = chart.get('StatefulSet', 'parley-worker');
  return readSettingsAndFiles(mount(chart).environmentAtStart(worker, { node: 'node-7' }));
}

function annotationsOf({ metadata }: KubernetesObject): Readonly<Record<string, string>> {
  return metadata.annotations ?? {};
}

describeWhereThere(['render-chart'])('the addresses of the chart', () => {
  it('behind NAT a part announces the public address of its node, and without one it does not start', () => {
    const publicIps = { 'node-1': '203.0.113.1', 'node-10': '203.0.113.10' };
    const chart = new RenderedChart({ network: { publicIps } }, 'three-nodes');
    const mounts = mount(chart);
    for (const role of ['worker', 'signalling']) {
      const part = chart.get('StatefulSet', `parley-${role}`);
      const settings = readSettingsAndFiles(mounts.environmentAtStart(part, { node: 'node-10' }));
      expect([settings.SIP_HOST, settings.SIP_PUBLIC_IP]).toEqual(['0.0.0.0', '203.0.113.10']);
      expect(() => mounts.environmentAtStart(part, { node: 'node-2' })).toThrow(/node node-2/);
    }
  });

  it('without NAT a part listens at the address of its node, and announces it', () => {
    const chart = new RenderedChart({}, 'three-nodes');
    const mounts = mount(chart);
    for (const role of ['worker', 'signalling']) {
      const part = chart.get('StatefulSet', `parley-${role}`);
      const settings = readSettingsAndFiles(mounts.environmentAtStart(part, { address: '10.0.0.7' }));
      expect([settings.SIP_HOST, settings.SIP_PUBLIC_IP]).toEqual(['10.0.0.7', undefined]);
    }
  });

  it('workers whose media all passes relays and LiveKit need no public address', () => {
    const settings = announcedElsewhere({}, 'own-services');
    expect([settings.SIP_HOST, settings.SIP_PUBLIC_IP, settings.MEDIA_PUBLIC_IP]).toEqual([
      '10.0.0.1',
      undefined,
      undefined,
    ]);
  });

  it('workers without phone calls, whose browsers are in LiveKit rooms, need no public address', () => {
    expect(announcedElsewhere({ sip: { mode: 'none' } }, 'three-nodes').MEDIA_PUBLIC_IP).toBeUndefined();
  });

  it('workers on the pods’ network do not announce the address of their node', () => {
    const relay = { external: ['10.0.2.1:2223'] };
    const settings = announcedElsewhere({ worker: { hostNetwork: false }, relay }, 'one-node');
    expect(settings.MEDIA_PUBLIC_IP).toBeUndefined();
  });

  it('behind relays, workers that browsers reach directly still announce the address of their node', () => {
    const relay = { external: ['10.0.2.1:2223'] };
    expect(() => announcedElsewhere({ relay }, 'one-node')).toThrow(/node node-7/);
    const chart = new RenderedChart({ network: { publicIps: PUBLIC_IPS }, relay }, 'one-node');
    const worker = chart.get('StatefulSet', 'parley-worker');
    const settings = readSettingsAndFiles(mount(chart).environmentAtStart(worker));
    expect([settings.SIP_HOST, settings.MEDIA_PUBLIC_IP]).toEqual(['10.0.0.1', '203.0.113.1']);
  });

  it('an ingress speaks TLS to control planes that have a certificate, and only to these', () => {
    const chartWith = (tlsSecret: string) =>
      new RenderedChart({ controlPlane: { tlsSecret }, ingress: { enabled: true } }, 'one-node');
    const protocols = ['tls', ''].map((secret) => {
      const chart = chartWith(secret);
      const service = chart.get('Service', 'parley');
      return [
        service.spec.ports?.[0]?.appProtocol,
        annotationsOf(service)[TRAEFIK],
        annotationsOf(chart.get('Ingress', 'parley'))[NGINX],
      ];
    });
    expect(protocols).toEqual([
      ['https', 'https', 'HTTPS'],
      [undefined, undefined, undefined],
    ]);
    // A load balancer of a cloud would probe the Service over HTTPS.
    const withoutIngress = new RenderedChart({ controlPlane: { tlsSecret: 'tls' } }, 'one-node');
    expect(withoutIngress.get('Service', 'parley').spec.ports?.[0]?.appProtocol).toBeUndefined();
  });

  it('the operator’s annotations go before those of the chart', () => {
    const chart = new RenderedChart(
      {
        controlPlane: { tlsSecret: 'tls', service: { annotations: { a: 'b', [TRAEFIK]: 'h2c' } } },
        ingress: { enabled: true, annotations: { [NGINX]: 'GRPCS' } },
      },
      'one-node',
    );
    expect(annotationsOf(chart.get('Service', 'parley'))).toEqual({ a: 'b', [TRAEFIK]: 'h2c' });
    expect(annotationsOf(chart.get('Ingress', 'parley'))).toEqual({ [NGINX]: 'GRPCS' });
  });
});
