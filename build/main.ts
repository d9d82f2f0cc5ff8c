import { resolve } from 'node:path';
import { buildExecutable } from './executable.ts';
import { createSbom, currentCommit } from './sbom.ts';

/** `npm run build` for this system, `npm run build -- bun-linux-arm64` for another. */

/** The form of a target; Bun rejects combinations that do not exist. */
const TARGET = /^bun-(linux|darwin|windows)-(x64|arm64|aarch64)(-(baseline|modern))?(-(glibc|musl))?$/;

function isTarget(text: string): text is Bun.Build.CompileTarget {
  return TARGET.test(text);
}

const [target] = process.argv.slice(2);
if (target !== undefined && !isTarget(target)) {
  process.stderr.write(`error: ${target} is not a target; give one such as bun-linux-arm64\n`);
  process.exit(2);
}
// npm runs scripts in the root of the package.
const outfile = resolve('dist/paybell');
await buildExecutable(outfile, { target });
await Bun.write(
  resolve('dist/paybell.cdx.json'),
  `${JSON.stringify(await createSbom(await currentCommit()), null, 2)}\n`,
);
process.stdout.write(
  `dist/paybell, ${(Bun.file(outfile).size / 2 ** 20).toFixed(0)} MiB; its bill of materials is dist/paybell.cdx.json\n`,
);
