import { resolve } from 'node:path';
import { buildExecutable } from './executable.ts';

/** `npm run build`, and `npm run build -- bun-linux-arm64` for another system. */

const [target] = process.argv.slice(2);
// npm runs scripts in the folder of the package.
const outfile = resolve('dist/paybell');
await buildExecutable(outfile, target as Bun.Build.CompileTarget | undefined);
process.stdout.write(`dist/paybell, ${(Bun.file(outfile).size / 2 ** 20).toFixed(0)} MiB\n`);
