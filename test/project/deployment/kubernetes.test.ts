import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Deployment } from 'kubernetes-types/apps/v1';
import type { HorizontalPodAutoscaler } from 'kubernetes-types/autoscaling/v2';
import type { Job } from 'kubernetes-types/batch/v1';
import type { ConfigMap, PodSpec, Service } from 'kubernetes-types/core/v1';
import type { NetworkPolicy } from 'kubernetes-types/networking/v1';
import type { PodDisruptionBudget } from 'kubernetes-types/policy/v1';
import { loadConfig, SETTING_NAMES } from '../../../src/config.ts';
import { longestStopMs } from '../../../src/service/stop-times.ts';
import { tempFolder } from '../../support/paybell.ts';
import { run } from '../../support/programs.ts';
import { startTestService } from '../../support/service.ts';
import { createTarget } from '../../support/stores.ts';
import { until } from '../../support/until.ts';

const ROOT = resolve(import.meta.dir, '../../..');
const FOLDER = join(ROOT, 'deploy/kubernetes');
const ROLES = ['api', 'delivery', 'chain'] as const;
const COMPONENT = 'app.kubernetes.io/component';

type Kinds = {
  Deployment: Deployment;
  Job: Job;
  Service: Service;
  ConfigMap: ConfigMap;
  NetworkPolicy: NetworkPolicy;
  PodDisruptionBudget: PodDisruptionBudget;
  HorizontalPodAutoscaler: HorizontalPodAutoscaler;
};
type Resource = { apiVersion: string; kind: string; metadata: { name: string } };
type Kustomization = { resources: string[]; images: { name: string; newTag: string }[] };

const resources: Resource[] = [];
let kustomization: Kustomization;

beforeAll(async () => {
  kustomization = Bun.YAML.parse(await Bun.file(join(FOLDER, 'kustomization.yaml')).text()) as Kustomization;
  for (const name of kustomization.resources) {
    const documents = (await Bun.file(join(FOLDER, name)).text()).split(/^---$/m);
    resources.push(...documents.map((text) => Bun.YAML.parse(text) as Resource));
  }
});

function allOf<Kind extends keyof Kinds>(kind: Kind): Kinds[Kind][] {
  return resources.filter((resource) => resource.kind === kind) as unknown as Kinds[Kind][];
}

function named<Kind extends keyof Kinds>(kind: Kind, name: string): Kinds[Kind] {
  const found = allOf(kind).find(({ metadata }) => metadata?.name === name);
  if (found === undefined) throw new Error(`there is no ${kind} ${name}`);
  return found;
}

/** Every pod, by the name of what starts it. */
function pods(): [string, PodSpec][] {
  return [...allOf('Deployment'), ...allOf('Job')].map(({ metadata, spec }) => {
    if (spec?.template?.spec === undefined) throw new Error(`${metadata?.name} starts no pod`);
    return [metadata?.name ?? '', spec.template.spec];
  });
}

describe('the base for kustomize', () => {
  test('lists every file of its folder', () => {
    const files = readdirSync(FOLDER).filter((name) => name !== 'kustomization.yaml');
    expect([...kustomization.resources].sort()).toEqual(files.sort());
    expect(resources.length).toBeGreaterThan(12);
  });

  test('has only fields that the schemas of Kubernetes have, of the right type, and all that they require', async () => {
    const folder = tempFolder();
    const types = join(ROOT, 'node_modules/kubernetes-types');
    const groupOf = ({ apiVersion }: Resource) => apiVersion.replace('.k8s.io', '').replace(/^v1$/, 'core/v1');
    const constant = (resource: Resource, index: number | string) =>
      `export const resource${index}: import('${types}/${groupOf(resource)}').${resource.kind} = ${JSON.stringify(resource)};`;
    const [first = { apiVersion: '', kind: '', metadata: { name: '' } }] = resources;
    const misspelt = { ...first, metadata: { ...first.metadata, lables: {} } };
    // What shows that the check can fail: without an error in the line, the compiler reports the comment.
    const lines = [...resources.map(constant), '// @ts-expect-error', constant(misspelt, 'Misspelt')];
    await Bun.write(join(folder.path, 'resources.ts'), lines.join('\n'));
    const options = ['--noEmit', '--strict', '--module', 'esnext', '--moduleResolution', 'bundler', '--types', ''];
    const tsc = join(ROOT, 'node_modules/.bin/tsc');
    expect(await run([tsc, ...options, 'resources.ts'], folder.path)).toBe('');
    folder.remove();
  });
});

describe('every pod', () => {
  test('runs without root, without privileges and with a file system that it can read only', () => {
    expect(pods().map(([name]) => name)).toEqual([...ROLES.map((role) => `paybell-${role}`), 'paybell-migrate']);
    for (const [, { securityContext, containers, automountServiceAccountToken, enableServiceLinks }] of pods()) {
      expect(securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
      expect({ automountServiceAccountToken, enableServiceLinks }).toEqual({
        automountServiceAccountToken: false,
        enableServiceLinks: false,
      });
      expect(containers).toHaveLength(1);
      expect(containers[0]?.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(containers[0]?.resources).toMatchObject({ requests: { memory: '256Mi' }, limits: { memory: '512Mi' } });
    }
  });

  test('runs as the user of the image, and can write to its folder and to /tmp', async () => {
    const dockerfile = await Bun.file(join(ROOT, 'Dockerfile')).text();
    const [, user] = /^USER (\d+)$/m.exec(dockerfile) ?? [];
    const [, folder = ''] = /^VOLUME (\S+)$/m.exec(dockerfile) ?? [];
    for (const [, { securityContext, containers, volumes = [] }] of pods()) {
      expect(securityContext?.runAsUser).toBe(Number(user));
      expect(containers[0]?.volumeMounts?.map(({ mountPath }) => mountPath)).toEqual([folder, '/tmp']);
      expect(volumes.map(({ name }) => name)).toEqual(containers[0]?.volumeMounts?.map(({ name }) => name) ?? []);
      for (const { emptyDir } of volumes) expect(emptyDir?.sizeLimit).toMatch(/^\d+Mi$/);
    }
  });

  test('has settings that exist, which are valid together with those of the Secret', () => {
    const { data = {} } = named('ConfigMap', 'paybell');
    const secret = { DATABASE_URL: 'postgres://a:b@db/c', SECRET_KEY: Buffer.alloc(32, 7).toString('base64') };
    for (const [, { containers }] of pods()) {
      const [container] = containers;
      expect(container?.envFrom).toEqual([{ configMapRef: { name: 'paybell' } }, { secretRef: { name: 'paybell' } }]);
      const own = (container?.env ?? []).map(({ name, value = '' }) => [name, value]);
      const settings = { ...data, ...Object.fromEntries(own), ...secret };
      for (const name of Object.keys(settings)) expect(SETTING_NAMES as string[]).toContain(name);
      expect(() => loadConfig(settings)).not.toThrow();
    }
    for (const name of Object.keys(data)) expect(name).not.toMatch(/KEY|TOKEN|URL/);
  });
});

describe('the deployments', () => {
  test('run one role each, which their labels name', () => {
    for (const role of ROLES) {
      const { spec } = named('Deployment', `paybell-${role}`);
      const labels = { [COMPONENT]: role };
      expect(spec?.selector).toEqual({ matchLabels: labels });
      expect(spec?.template.metadata?.labels).toEqual(labels);
      expect(spec?.template.spec?.containers[0]).toMatchObject({
        args: ['serve'],
        env: [{ name: 'ROLE', value: role }],
      });
      expect(named('PodDisruptionBudget', `paybell-${role}`).spec?.selector).toEqual({ matchLabels: labels });
    }
    expect(named('Service', 'paybell-api').spec?.selector).toEqual({ [COMPONENT]: 'api' });
  });

  test('wait longer than a stop can take', () => {
    for (const role of ROLES) {
      const pod = named('Deployment', `paybell-${role}`).spec?.template.spec;
      const [, beforeS = '0'] = pod?.containers[0]?.lifecycle?.preStop?.exec?.command ?? [];
      const graceS = (pod?.terminationGracePeriodSeconds ?? 0) - Number(beforeS);
      expect(graceS * 1000).toBeGreaterThan(longestStopMs(loadConfig({})));
    }
  });

  test('have no autoscaler and a fixed number of pods, or an autoscaler and no fixed number', () => {
    const scaled = allOf('HorizontalPodAutoscaler').map(({ spec }) => spec?.scaleTargetRef.name);
    for (const { metadata, spec } of allOf('Deployment')) {
      expect([metadata?.name, spec?.replicas === undefined]).toEqual([metadata?.name, scaled.includes(metadata?.name)]);
    }
  });
});

describe('what the files ask of a running service', () => {
  const opened: (() => unknown)[] = [];
  afterAll(async () => {
    for (const close of opened.reverse()) await close();
  });

  test('is there: the paths of the probes, and the metric that the autoscaler reads', async () => {
    const { url, remove } = await createTarget('sqlite');
    opened.push(remove);
    const service = await startTestService(url);
    opened.push(() => service[Symbol.asyncDispose]());
    const { url: origin } = service.client();
    for (const [, { containers }] of pods().filter(([name]) => name !== 'paybell-migrate')) {
      const { startupProbe, livenessProbe, readinessProbe, ports } = containers[0] ?? {};
      expect(ports?.map(({ name }) => name)).toEqual(['http']);
      for (const probe of [startupProbe, livenessProbe, readinessProbe]) {
        expect(probe?.httpGet?.port).toBe('http');
        expect((await fetch(`${origin}${probe?.httpGet?.path}`)).status).toBe(200);
      }
    }
    const [metric] = named('HorizontalPodAutoscaler', 'paybell-delivery').spec?.metrics ?? [];
    const line = new RegExp(`^${metric?.external?.metric.name} `, 'm');
    const scrape = async () => (await fetch(`${origin}/metrics`)).text();
    // The first scrapes do not wait for the first count of the queue.
    await until('the queue was counted', async () => line.test(await scrape()));
    expect(await scrape()).toMatch(line);
  });
});

describe('the network policies', () => {
  test('allow nothing by default but names and the database', () => {
    const { spec } = named('NetworkPolicy', 'paybell');
    expect(spec).toMatchObject({ podSelector: {}, policyTypes: ['Ingress', 'Egress'] });
    expect(spec?.ingress).toBeUndefined();
    expect(spec?.egress?.flatMap(({ ports = [] }) => ports.map(({ port }) => port))).toEqual([53, 53, 5432, 6432]);
  });

  test('let no receiver be on a private address', () => {
    const [rule] = named('NetworkPolicy', 'paybell-receivers').spec?.egress ?? [];
    const excluded = rule?.to?.flatMap(({ ipBlock }) => ipBlock?.except ?? []) ?? [];
    for (const range of ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '169.254.0.0/16', 'fc00::/7']) {
      expect(excluded).toContain(range);
    }
  });
});
