import { cp, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { bundleService } from './bundle.ts';
import { clientManifest, serviceManifest } from './manifests.ts';
import { buildModules, filesOf, MODULES } from './modules.ts';
import { thirdPartyLicences } from './third-party-licences.ts';

/**
 * Builds the two packages that people install: `@paybell/client` for programs that call a server or receive from one, and
 * `paybell`, the service with its commands. `npm run build:package` writes them to dist/packages/client and
 * dist/packages/paybell, or to such folders in the one given as an argument.
 */

const ROOT = resolve(import.meta.dir, '..');

export async function buildPackages(outDir: string): Promise<{ client: string; service: string }> {
  const folders = { client: join(outDir, 'client'), service: join(outDir, 'paybell') };
  await buildClientPackage(folders.client);
  await buildServicePackage(folders.service, folders.client);
  return folders;
}

export async function buildClientPackage(outDir: string): Promise<void> {
  await rm(outDir, { recursive: true, force: true });
  await buildModules(outDir);
  await addDocuments(outDir, 'client', clientManifest());
}

/** With the modules of the client's package, which was built before. */
async function buildServicePackage(outDir: string, client: string): Promise<void> {
  await rm(outDir, { recursive: true, force: true });
  for (const file of MODULES.flatMap(filesOf)) await cp(join(client, file), join(outDir, file));
  await bundleService(join(outDir, 'lib'));
  await cp(join(import.meta.dir, 'service/bunfig.toml'), join(outDir, 'lib/bunfig.toml'));
  await cp(join(import.meta.dir, 'service/bin'), join(outDir, 'bin'), { recursive: true });
  await Bun.write(join(outDir, 'THIRD-PARTY-LICENCES.txt'), await thirdPartyLicences());
  await addDocuments(outDir, 'service', serviceManifest());
}

async function addDocuments(outDir: string, source: 'client' | 'service', manifest: object): Promise<void> {
  await Bun.write(join(outDir, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  await cp(join(ROOT, 'LICENSE'), join(outDir, 'LICENSE'));
  await cp(join(import.meta.dir, source, 'README.md'), join(outDir, 'README.md'));
}

if (import.meta.main) await buildPackages(resolve(process.argv[2] ?? join(ROOT, 'dist/packages')));
