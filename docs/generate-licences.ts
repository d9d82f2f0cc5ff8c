import { resolve } from 'node:path';
import { type Locked as LockedPackage, shippedRule } from '../build/shipped-packages.ts';

/** Writes dist/licences.md from package-lock.json: `npx bun docs/generate-licences.ts`. */

const ROOT = resolve(import.meta.dir, '..');

export type Package = {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
  readonly shipped: boolean;
};

/** Development dependencies whose files the executable contains. */
const CONTAINED = ['swagger-ui-dist'];

type Locked = LockedPackage & { name?: string; version?: string; license?: string; link?: boolean };

/** Third-party packages only: folders of this repository, and links to them, are left out. */
export async function lockedPackages(): Promise<Package[]> {
  const { packages } = (await Bun.file(resolve(ROOT, 'package-lock.json')).json()) as {
    packages: Record<string, Locked>;
  };
  const isShipped = shippedRule(packages);
  const all = Object.entries(packages)
    .filter(([path, { link }]) => path.includes('node_modules/') && link !== true)
    .map(([path, locked]) => {
      const { name = path.split('node_modules/').at(-1) ?? '', version = '', license = 'not declared' } = locked;
      const shipped = isShipped(path, locked) || CONTAINED.includes(name);
      return { name, version, licence: license.replace(/^\((.*)\)$/, '$1'), shipped };
    });
  const named = new Map(all.map((each) => [`${each.name} ${each.version} ${each.shipped}`, each]));
  return [...named.values()].sort((a, b) => compare(a.name, b.name) || compare(a.version, b.version));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function countsOf(packages: readonly Package[]): string {
  const byLicence = Object.groupBy(packages, ({ licence }) => licence);
  const counts = Object.entries(byLicence).map(([licence, { length } = []]) => ({ licence, count: length ?? 0 }));
  return counts
    .sort((a, b) => b.count - a.count || compare(a.licence, b.licence))
    .map(({ licence, count }) => `${licence} ${count}`)
    .join(', ');
}

function table(packages: readonly Package[]): string {
  const rows = packages.map(({ name, version, licence }) => `| ${name} | ${version} | ${licence} |`);
  return ['| package | version | licence |', '|---|---|---|', ...rows].join('\n');
}

export async function licencesPage(): Promise<string> {
  const packages = await lockedPackages();
  const shipped = packages.filter((each) => each.shipped);
  const development = packages.filter((each) => !each.shipped);
  return `# Licences

<!-- Generated from package-lock.json by: npx bun docs/generate-licences.ts -->

Paybell is released under the MIT licence. This page lists every dependency, for every platform, with the licence that its
package declares.

## Runtime dependencies

${shipped.length} packages: ${countsOf(shipped)}.

${table(shipped)}

## Development dependencies

${development.length} packages: ${countsOf(development)}. The running service uses none of them.

${table(development)}
`;
}

if (import.meta.main) await Bun.write(resolve(ROOT, 'dist/licences.md'), await licencesPage());
