import { createHash } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { buildPackages } from '../../package/build.ts';
import root from '../../package.json' with { type: 'json' };
import { buildExecutable } from '../executable.ts';
import { createSbom, currentCommit } from '../sbom.ts';
import { fetchRuntime } from './runtime.ts';
import { machineOf, type ReleaseTarget, TARGETS } from './targets.ts';

/** The files of a release: two packages, executables, their bill of materials, the OpenAPI document and the checksums. */

export type LeftOut = { readonly target: string; readonly reason: string };

export async function buildReleaseFiles(outDir: string, openapi: object): Promise<LeftOut[]> {
  const work = join(outDir, '.work');
  await rm(outDir, { recursive: true, force: true });
  for (const folder of Object.values(await buildPackages(join(work, 'packages')))) await pack(folder, outDir);
  const leftOut: LeftOut[] = [];
  for (const target of TARGETS) {
    const reason = await buildFor(target, outDir, join(work, target.name)).then(
      () => null,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
    if (reason !== null) leftOut.push({ target: target.name, reason });
  }
  const sbom = await createSbom(await currentCommit());
  await Bun.write(join(outDir, `paybell-${root.version}.cdx.json`), `${JSON.stringify(sbom, null, 2)}\n`);
  await Bun.write(join(outDir, `paybell-${root.version}.openapi.json`), `${JSON.stringify(openapi, null, 2)}\n`);
  await rm(work, { recursive: true, force: true });
  await Bun.write(join(outDir, 'SHA256SUMS'), await checksumsOf(outDir));
  return leftOut;
}

async function pack(folder: string, outDir: string): Promise<void> {
  const command = ['npm', 'pack', '--silent', folder, '--pack-destination', outDir];
  const child = Bun.spawn(command, { stdout: 'ignore', stderr: 'inherit' });
  if ((await child.exited) !== 0) throw new Error(`${command.join(' ')} failed`);
}

async function buildFor(
  { name, target, runtime, machine }: ReleaseTarget,
  outDir: string,
  work: string,
): Promise<void> {
  const outfile = join(outDir, `paybell-${root.version}-${name}`);
  await buildExecutable(outfile, { target, runtime: await fetchRuntime(runtime, work) });
  const found = await machineOf(outfile);
  if (found !== machine) {
    await rm(outfile);
    throw new Error(`the executable is for machine ${found} and not ${machine}`);
  }
}

/** The lines that `sha256sum --check` reads, in the order of the names. */
export async function checksumsOf(folder: string): Promise<string> {
  const names = (await readdir(folder)).filter((name) => name !== 'SHA256SUMS' && !name.startsWith('.')).sort();
  const lines = await Promise.all(
    names.map(async (name) => {
      const hash = createHash('sha256');
      for await (const chunk of Bun.file(join(folder, name)).stream()) hash.update(chunk);
      return `${hash.digest('hex')}  ${name}\n`;
    }),
  );
  return lines.join('');
}
