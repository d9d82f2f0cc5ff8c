import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import viewer from 'swagger-ui-dist/package.json' with { type: 'json' };
import root from '../package.json' with { type: 'json' };
import lock from '../package-lock.json' with { type: 'json' };
import { type Locked, shippedRule } from './shipped-packages.ts';

/**
 * The software bill of materials of the executable, in CycloneDX: what `npm sbom` lists without development dependencies,
 * and what the executable contains besides: Bun itself, and the built files of Swagger UI. The timestamp and the serial number
 * follow from the commit, so that one commit has one document.
 */

const ROOT = resolve(import.meta.dir, '..');

export type Commit = { readonly id: string; readonly date: string };
export type Component = { name: string; version: string; purl: string; [member: string]: unknown };
export type Sbom = {
  serialNumber: string;
  metadata: { timestamp: string; component: Component; [member: string]: unknown };
  components: Component[];
  [member: string]: unknown;
};

export async function createSbom(commit: Commit | null): Promise<Sbom> {
  const folder = await mkdtemp(join(tmpdir(), 'paybell-sbom-'));
  try {
    await writeProductionManifest(folder);
    const command = ['npm', 'sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--package-lock-only'];
    const child = Bun.spawn(command, { cwd: folder, stdout: 'pipe', stderr: 'pipe' });
    const [text, errors] = await Promise.all([child.stdout.text(), child.stderr.text()]);
    if ((await child.exited) !== 0) throw new Error(`npm sbom failed: ${errors}`);
    return withFixedIdentity(JSON.parse(text) as Sbom, commit);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** `npm sbom --omit=dev` leaves out what development dependencies use too, such as zod, so they are taken out before. */
async function writeProductionManifest(folder: string): Promise<void> {
  const { devDependencies: _, overrides: __, ...manifest } = root;
  const { '': project, ...packages } = lock.packages as Record<
    string,
    Locked & { link?: boolean; devDependencies?: unknown }
  >;
  const { devDependencies: ___, ...production } = project ?? {};
  const isShipped = shippedRule(packages);
  const kept = Object.entries(packages).filter(([path, locked]) => {
    return path.startsWith('node_modules/') && locked.link !== true && isShipped(path, locked);
  });
  const productionLock = { ...lock, packages: { '': production, ...Object.fromEntries(kept) } };
  await Bun.write(join(folder, 'package.json'), JSON.stringify(manifest));
  await Bun.write(join(folder, 'package-lock.json'), JSON.stringify(productionLock));
}

function withFixedIdentity(sbom: Sbom, commit: Commit | null): Sbom {
  // Without a commit, as in a build from an archive, the version identifies the document.
  const { id, date } = commit ?? { id: `v${root.version}`, date: '1970-01-01T00:00:00Z' };
  const { metadata, components } = sbom;
  return {
    ...sbom,
    serialNumber: `urn:uuid:${uuidOf(id)}`,
    metadata: {
      ...metadata,
      timestamp: new Date(date).toISOString(),
      component: { ...metadata.component, name: root.name },
    },
    components: [...components.filter(({ name }) => name !== 'bun' && !name.startsWith('@oven/bun-')), ...contained()],
  };
}

/** `npm sbom` lists Bun as an npm package with a binary for every system; the executable contains the runtime itself. */
function contained(): Component[] {
  return [
    {
      'bom-ref': `bun@${Bun.version}`,
      type: 'platform',
      name: 'bun',
      version: Bun.version,
      scope: 'required',
      purl: `pkg:github/oven-sh/bun@bun-v${Bun.version}`,
      licenses: [{ license: { id: 'MIT' } }],
    },
    {
      'bom-ref': `${viewer.name}@${viewer.version}`,
      type: 'library',
      name: viewer.name,
      version: viewer.version,
      scope: 'required',
      purl: `pkg:npm/${viewer.name}@${viewer.version}`,
      licenses: [{ license: { id: viewer.license } }],
    },
  ];
}

/** In the form of a version 8 UUID (RFC 9562), which leaves its bits to the application. */
function uuidOf(text: string): string {
  const bytes = createHash('sha256').update(`paybell sbom ${text}`).digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** Null outside a Git repository. */
export async function currentCommit(): Promise<Commit | null> {
  try {
    const child = Bun.spawn(['git', 'log', '-1', '--format=%H %cI'], { cwd: ROOT, stdout: 'pipe', stderr: 'ignore' });
    const [id, date] = (await child.stdout.text()).trim().split(' ');
    return (await child.exited) === 0 && id && date ? { id, date } : null;
  } catch {
    return null;
  }
}
