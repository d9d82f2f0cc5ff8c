import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import root from '../../package.json' with { type: 'json' };
import { changesSince, currentDocument, releasedVersions, writeReleased } from '../openapi/released.ts';
import { findDisagreements } from './agreement.ts';
import { buildReleaseFiles } from './files.ts';
import { readReleaseTexts } from './release-texts.ts';

/**
 * `npm run release -- --dry-run`: checks that version, lock file, changelog and pages agree and that the API breaks no
 * program, and builds every file of a release into dist/release. It publishes nothing.
 */

const OUT = resolve(import.meta.dir, '../../dist/release');

function fail(text: string, exitCode = 1): never {
  process.stderr.write(`error: ${text}\n`);
  process.exit(exitCode);
}

const args = process.argv.slice(2);
if (args.length !== 1 || args[0] !== '--dry-run') {
  fail('nothing is published by a script; build the files with: npm run release -- --dry-run', 2);
}

const disagreements = findDisagreements(await readReleaseTexts(new Date().toISOString().slice(0, 10)));
if (disagreements.length > 0) fail(`this is no release yet:\n${disagreements.map((each) => `  ${each}`).join('\n')}`);

const document = await currentDocument();
const before = releasedVersions().findLast((version) => Bun.semver.order(version, root.version) < 0);
const { breaking } = before === undefined ? { breaking: [] } : await changesSince(before, document);
if (breaking.length > 0) fail(`programs for ${before} would break:\n${breaking.map((each) => `  ${each}`).join('\n')}`);

const leftOut = await buildReleaseFiles(OUT, document);
await writeReleased(root.version, document);
process.stdout.write(`Paybell ${root.version}, in dist/release:\n`);
for (const name of (await readdir(OUT)).sort()) {
  process.stdout.write(`  ${(Bun.file(join(OUT, name)).size / 2 ** 20).toFixed(2).padStart(7)} MiB  ${name}\n`);
}
for (const { target, reason } of leftOut) process.stdout.write(`left out: the executable for ${target}: ${reason}\n`);
process.stdout.write(
  `Commit build/openapi/released/${root.version}.json with the release: the next one is compared with it.\n`,
);
