import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { buildPackage } from '../../package/build.ts';
import { run } from '../support/programs.ts';
import { tempBase } from '../support/temp-base.ts';

/** The package built and packed in a folder of its own, as `npm run build:package && npm pack ./dist/package` does. */
export type Packed = { readonly folder: string; readonly built: string; readonly tarball: string; remove: () => void };

export async function packPackage(): Promise<Packed> {
  const folder = mkdtempSync(join(tempBase(), 'paybell-package-'));
  const built = join(folder, 'package');
  await buildPackage(built);
  const { name, version } = (await Bun.file(join(built, 'package.json')).json()) as { name: string; version: string };
  await run(['npm', 'pack', built, '--pack-destination', folder], folder);
  const remove = () => rmSync(folder, { recursive: true, force: true });
  return { folder, built, tarball: join(folder, `${name}-${version}.tgz`), remove };
}
