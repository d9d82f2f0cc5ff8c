import { resolve } from 'node:path';
import { embedDashboard } from '../src/api/dashboard/embedding.ts';

const MAIN = resolve(import.meta.dir, '../src/main.ts');

/**
 * The whole of Paybell in one file that runs where there is neither Node nor Bun. `target` names another system, such as
 * `bun-linux-arm64-musl`; without it the file is for this one.
 */
export async function buildExecutable(outfile: string, target?: Bun.Build.CompileTarget): Promise<void> {
  await Bun.build({
    entrypoints: [MAIN],
    bytecode: true,
    format: 'esm',
    minify: true,
    plugins: [await embedDashboard()],
    compile: {
      outfile,
      ...(target === undefined ? {} : { target }),
      // A file of another project in the folder where it is started could load code into it.
      autoloadBunfig: false,
    },
  });
}
