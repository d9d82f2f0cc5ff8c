import { resolve } from 'node:path';
import { embedDashboard } from '../src/api/dashboard/embedding.ts';

const MAIN = resolve(import.meta.dir, '../src/main.ts');
/** Started by the executable as a thread, and so not found by following imports. */
const THREAD = resolve(import.meta.dir, '../src/store/database/sqlite/thread-program.ts');

/**
 * Builds Paybell as one executable that needs neither Node nor Bun. `target` is the system that it runs on, such as
 * `bun-linux-arm64-musl`; this one by default.
 */
export async function buildExecutable(outfile: string, target?: Bun.Build.CompileTarget): Promise<void> {
  await Bun.build({
    entrypoints: [MAIN, THREAD],
    naming: { entry: '[name].[ext]' },
    bytecode: true,
    format: 'esm',
    minify: true,
    plugins: [await embedDashboard()],
    compile: {
      outfile,
      ...(target === undefined ? {} : { target }),
      // A bunfig.toml in the working directory could make it load foreign code.
      autoloadBunfig: false,
    },
  });
}
