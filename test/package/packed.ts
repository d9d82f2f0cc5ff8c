import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { buildClientPackage, buildPackages } from '../../package/build.ts';
import { run } from '../support/programs.ts';
import { tempBase } from '../support/temp-base.ts';

/** A package built and packed in a folder of its own, as `npm run build:package && npm pack ./dist/packages/…` does. */
export type Packed = { readonly folder: string; readonly built: string; readonly tarball: string; remove: () => void };

export function packClient(): Promise<Packed> {
  return pack('client', buildClientPackage);
}

export function packService(): Promise<Packed> {
  return pack('paybell', async (_built, folder) => {
    await buildPackages(folder);
  });
}

async function pack(name: string, build: (built: string, folder: string) => Promise<void>): Promise<Packed> {
  const folder = mkdtempSync(join(tempBase(), 'paybell-package-'));
  const built = join(folder, name);
  await build(built, folder);
  return {
    folder,
    built,
    tarball: await packFolder(built, folder),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** The path of the packed file. */
export async function packFolder(built: string, into: string): Promise<string> {
  const output = await run(['npm', 'pack', built, '--json', '--pack-destination', into], into);
  const [packed] = JSON.parse(output) as { filename: string }[];
  return join(into, packed?.filename ?? '');
}

/** The packages that a project has, by name. */
export function installedIn(project: string): string[] {
  const names = readdirSync(join(project, 'node_modules')).filter((name) => !name.startsWith('.'));
  return names
    .flatMap((name) =>
      name.startsWith('@')
        ? readdirSync(join(project, 'node_modules', name)).map((inner) => `${name}/${inner}`)
        : [name],
    )
    .sort();
}
